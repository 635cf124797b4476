"""Hands graded work back: a feedback page for each submission, as its marks are now."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from .classroom import BATCH, Order
from .course import Assignment, Course, CourseError, assignment
from .feedback import Graded, page
from .gradebook import Book
from .shelf import Key, Shelf, other_files
from .workers import Crew, carry

AGAIN = "run 'autograder grade {} --student {}'"


def hand_back(
    course: Course, book: Book, shelf: Shelf, order: Order, crew: Crew
) -> tuple[int, dict[Key, str]]:
    """Makes the pages of all graded submissions of `order`, anew where there is one already.

    Returns how many, and why a submission has none. Raises OSError where the disk is full, and Gone
    where the cluster is lost.
    """
    made, failed = 0, dict[Key, str]()
    batch: list[Key] = []
    for task, outcome in carry(crew, page, _graded(course, book, order, failed)):
        key = (task.assignment, task.student)
        if isinstance(outcome, BaseException):
            failed[key] = f"{type(outcome).__name__}: {outcome}"
            continue
        shelf.stage(key, _files(course, key, outcome))
        batch.append(key)
        made += 1
        if len(batch) >= BATCH:
            shelf.settle(batch)
            batch = []
    shelf.settle(batch)
    return made, failed


def _graded(course: Course, book: Book, order: Order, failed: dict[Key, str]) -> Iterator[Graded]:
    unfinished = Shelf(course.root, "autograded").unfinished()
    for one in order.assignments:
        students = course.students_of("autograded", one, order.students)
        if students and not book.knows(one):
            advice = f"run 'autograder grade {one.name}' first"
            raise CourseError(f"the gradebook does not know {one.name}: {advice}")
        stopped = {student for student in students if (one.name, student) in unfinished}
        for student in stopped:
            failed[one.name, student] = f"its grading was stopped: {AGAIN.format(one.name, student)}"
        whole = (student for student in students if student not in stopped)
        while some := list(islice(whole, BATCH)):
            yield from _some(course, book, one, some, failed)


def _some(
    course: Course, book: Book, one: Assignment, students: Sequence[str], failed: dict[Key, str]
) -> Iterator[Graded]:
    marks = book.marks(one.name, students)
    for student in students:
        try:
            notebook = (course.folder("autograded", one.name, student) / one.file).read_bytes()
            mark = marks[student]
        except (OSError, KeyError) as error:
            what = (
                "its notebook cannot be read" if isinstance(error, OSError) else "it is not in the gradebook"
            )
            failed[one.name, student] = f"{what}: {AGAIN.format(one.name, student)}"
            continue
        yield Graded(student, one.name, notebook, mark.scores, mark.comments, mark.late_penalty)


def _files(course: Course, key: Key, html: bytes) -> list[tuple[Path, bytes | Path]]:
    """A page's folder, with what nbgrader puts there: the page, and what lies beside the notebook."""
    name, student = key
    files: dict[Path, bytes | Path] = dict(other_files(course.folder("autograded", name, student)))
    return [*files.items(), (Path(f"{assignment(name).notebook}.html"), html)]
