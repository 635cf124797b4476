"""Judges notebooks that stand alone, for a learner: no gradebook, no instructor."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat

from .course import ASSIGNMENTS, Assignment, Course, CourseError, laid_beside
from .exercise import Notebook, Verdict
from .exercises import declared
from .grade import OWN, grade
from .marking import plain_cells
from .submission import repair

SEED = "learner"  # everybody's inputs are the same here: there is nothing to win by knowing them


@dataclass(frozen=True)
class Checked:
    """What a notebook that stands alone is worth, and what was mended to find out.

    `verdicts` is empty and `notes` says why where the file could not be read.
    """

    path: Path
    assignment: Assignment
    verdicts: dict[str, Verdict]
    notes: tuple[str, ...]
    readable: bool

    @property
    def score(self) -> float:
        return sum(verdict.score for verdict in self.verdicts.values())

    @property
    def max_score(self) -> int:
        """The points that a program can give; written answers are left to a person."""
        return sum(exercise.points for exercise in declared(self.assignment).exercises)

    def as_json(self) -> dict[str, Any]:
        """The object that `autograder check --json` prints."""
        exercises = [
            {
                "id": name,
                "points": verdict.points,
                "score": verdict.score,
                "message": verdict.message,
                "mistake": verdict.mistake,
            }
            for name, verdict in self.verdicts.items()
        ]
        return {
            "notebook": str(self.path),
            "assignment": self.assignment.name,
            "score": self.score,
            "max_score": self.max_score,
            "exercises": exercises,
            "notes": list(self.notes),
        }

    def as_text(self) -> str:
        """The same for a terminal."""
        lines = [f"{self.path}: {self.score:g} of {self.max_score} points"]
        lines += [f"  note: {note}" for note in self.notes]
        for name, verdict in self.verdicts.items():
            mark = "right" if verdict.right else f"{verdict.score:g} of {verdict.points}"
            lines.append(f"  {name:<24}{mark}")
            lines += [f"      {line}" for line in verdict.message.splitlines()]
        return "\n".join(lines)


def check(course: Course, path: Path) -> Checked:
    """Judges the notebook in the file `path`.

    Raises CourseError where there is no such file, where it cannot be told which assignment it
    belongs to, and where the course is not built.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {error.strerror}") from None
    assignment = _assignment_of(path, data)
    notebook = declared(assignment)
    released = nbformat.reads(course.read_released(assignment).decode(), as_version=4)
    mended = repair(data, released, _names(notebook))
    if mended.reason:
        return Checked(path, assignment, {}, mended.notes, readable=False)
    terms = replace(OWN, given=tuple(plain_cells(released).values()))
    graded = grade(mended.notebook, notebook, SEED, laid_beside(assignment, drawn=False), terms)
    return Checked(path, assignment, graded.verdicts, mended.notes, readable=True)


def _names(notebook: Notebook) -> dict[str, tuple[str, ...]]:
    return {exercise.id: exercise.names for exercise in notebook.exercises}


def _assignment_of(path: Path, data: bytes) -> Assignment:
    """The assignment whose ids the file holds most of, else the one it is named after."""
    found = {
        one: sum(data.count(f'"{e.id}"'.encode()) for e in declared(one).exercises) for one in ASSIGNMENTS
    }
    best = max(ASSIGNMENTS, key=lambda one: found[one])
    if found[best]:
        return best
    for one in ASSIGNMENTS:
        if one.notebook in path.stem or one.name in map(str, path.parts):
            return one
    names = ", ".join(one.file for one in ASSIGNMENTS)
    raise CourseError(f"{path} belongs to no assignment: is it one of {names}?")
