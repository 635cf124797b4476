"""A made class from its submissions to its pages, in a folder of its own."""

import shutil
import sys
from pathlib import Path

from . import feedback, marking
from .classroom import Order
from .course import ASSIGNMENTS, Course, CourseError
from .grade import Terms
from .gradebook import Book
from .nbgrader_plugin import generate_release, settings
from .office import grade_class, make_feedback
from .report import grade_table
from .sample import make_class
from .workers import crew_of

MARK = ".demonstration"  # in a folder that may be removed and made anew


def demo(course: Course, folder: Path, students: int, seed: int) -> int:
    """Grades a class of made students below `folder`, prints the grade table and what to do next.

    What an earlier demonstration left in `folder` is removed. Returns the exit code; raises CourseError
    where `folder` holds anything else, and where the course is not built.
    """
    room = _fresh_course(course, folder)
    made = make_class(room, room.root / "submitted", students, seed)
    print(f"{len(made)} students have handed in {sum(map(len, made.values()))} notebooks", flush=True)
    order = Order(ASSIGNMENTS, terms=Terms(confined=False))  # the submissions are our own
    outcome = grade_class(room, order, crew_of(None, None, marking.ready))
    without_page = make_feedback(room, order, crew_of(None, None, feedback.ready))
    failures: dict[str, dict[str, str]] = {}
    for (name, student), why in outcome.progress.failed.items():
        failures.setdefault(student, {})[name] = why
    nbgrader = settings(room)
    with Book(nbgrader.db_url, nbgrader.course_id) as book:
        book.export(room.root / "grades.csv")
        print(f"\n{grade_table(book.scores(), failures)}\n")
    print(_where(room, folder))
    return outcome.code or without_page


def _fresh_course(course: Course, folder: Path) -> Course:
    """A copy of the course with a gradebook that knows its assignments and nobody yet."""
    if (folder / MARK).is_file():
        shutil.rmtree(folder)
    if folder.exists():
        raise CourseError(f"{folder} is there and no demonstration's: name another with --folder")
    folder.mkdir(parents=True)
    (folder / MARK).touch()
    shutil.copyfile(course.root / "nbgrader_config.py", folder / "nbgrader_config.py")
    if not course.source.is_dir():
        raise CourseError(f"{course.source} is missing: run 'autograder build' first")
    shutil.copytree(course.source, folder / "source")
    room = Course(folder.resolve())
    generate_release(room.root / "nbgrader_config.py", room.root, ASSIGNMENTS)
    return room


def _where(room: Course, folder: Path) -> str:
    pages = sorted((room.root / "feedback").glob("*/*/*.html"))
    return "\n".join(
        [
            f"gradebook   {folder / 'gradebook.db'}",
            f"scores      {folder / 'grades.csv'}",
            f"feedback    {folder / 'feedback'}, {len(pages)} pages",
            f"answers     {folder / 'submitted' / 'class.json'} says what each student was made to hand in",
            f"next        cd {folder}",
            f"            {Path(sys.executable).parent / 'jupyter'} lab",
            "            and there, in the menu Nbgrader, Formgrader: the written answers wait to be marked",
        ]
    )
