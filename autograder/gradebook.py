"""nbgrader's cycle on a course folder, and what its gradebook holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import BaseConverter
from nbgrader.plugins import CsvExportPlugin

from .course import Assignment, Course
from .nbgrader_plugin import converter_of, generate_release


@dataclass(frozen=True)
class Score:
    """One submission: its points so far, of how many, and how many answers await a person."""

    score: float
    max_score: float
    to_mark: int


def enter(course: Course, assignments: Iterable[Assignment]) -> None:
    """Makes the release and enters the assignments into the gradebook."""
    generate_release(course.root / "nbgrader_config.py", course.root, assignments)


def autograde(course: Course, assignment: Assignment) -> dict[str, str]:
    """`nbgrader autograde` of one assignment's submissions.

    Returns the students whose submission it could not grade, with its reason.
    """
    return _convert(Autograde, course, assignment)


def generate_feedback(course: Course, assignment: Assignment) -> dict[str, str]:
    """`nbgrader generate_feedback` of one assignment; returns who got no page, and why."""
    return _convert(GenerateFeedback, course, assignment)


def _convert(kind: type[BaseConverter], course: Course, assignment: Assignment) -> dict[str, str]:
    """Runs a converter on all students at once, and on each alone where it fails.

    Some of nbgrader's errors end the whole run; those whose turn had not come get it this way.
    """
    if not _run(kind, course, assignment):
        return {}
    done = "autograded" if kind is Autograde else "feedback"
    handed_in = "submitted" if kind is Autograde else "autograded"
    failures = {}
    for folder in sorted((course.root / handed_in).glob(f"*/{assignment.name}")):
        student = folder.parent.name
        if (course.root / done / student / assignment.name).is_dir():
            continue
        if reason := _run(kind, course, assignment, student):
            failures[student] = reason
    return failures


def _run(kind: type[BaseConverter], course: Course, assignment: Assignment, student: str = "*") -> str:
    """Runs a converter once; returns nbgrader's reason if it fails."""
    converter, complaints = converter_of(kind, course.root, course.root / "nbgrader_config.py", assignment)
    converter.coursedir.student_id = student
    try:
        converter.start()
    except Exception as error:  # nbgrader logs what is wrong, and raises in the end
        told = [line for line in complaints if not line.startswith("There was an error")]
        return told[0] if told else str(error)
    return ""


def export(course: Course, file: Path) -> None:
    """Writes all scores to a CSV file as `nbgrader export` does."""
    with _open(course) as gradebook:
        CsvExportPlugin(to=str(file)).export(gradebook)


def scores(course: Course) -> dict[str, dict[str, Score]]:
    """What every student has, by student and assignment."""
    table: dict[str, dict[str, Score]] = {}
    with _open(course) as gradebook:
        for assignment in gradebook.assignments:
            for one in assignment.submissions:
                to_mark = sum(grade.needs_manual_grade for book in one.notebooks for grade in book.grades)
                score = Score(one.score, one.max_score, to_mark)
                table.setdefault(one.student.id, {})[assignment.name] = score
    return table


def _open(course: Course) -> Gradebook:
    return Gradebook(f"sqlite:///{course.root / 'gradebook.db'}")
