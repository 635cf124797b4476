"""The course's build and its grading."""
