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


def autograde(course: Course, assignment: Assignment) -> list[str]:
    """`nbgrader autograde` of one assignment's submissions; returns complaints, a line each."""
    return _convert(Autograde, course, assignment)


def generate_feedback(course: Course, assignment: Assignment) -> list[str]:
    """`nbgrader generate_feedback` of one assignment; returns complaints, a line each."""
    return _convert(GenerateFeedback, course, assignment)


def _convert(kind: type[BaseConverter], course: Course, assignment: Assignment) -> list[str]:
    converter, complaints = converter_of(kind, course.root, course.root / "nbgrader_config.py", assignment)
    try:
        converter.start()
    except Exception as error:  # nbgrader reports each failed submission, and raises at the end
        return complaints or [str(error)]
    return []


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
