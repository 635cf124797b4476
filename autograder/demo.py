"""A made class through the whole of nbgrader's cycle, in a folder of its own."""

import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import gradebook
from .course import ASSIGNMENTS, Assignment, Course, CourseError
from .report import grade_table
from .sample import make_class

MARK = ".demonstration"  # in a folder that may be removed and made anew
Failures = dict[str, dict[str, str]]  # why a submission has no score, by student and assignment


def demo(course: Course, folder: Path, students: int, seed: int) -> Failures:
    """Grades a class of made students below `folder`, and prints the grade table and what to do next.

    What an earlier demonstration left in `folder` is removed. Returns what nbgrader could not grade, and
    why, by student and assignment; raises CourseError where `folder` holds anything else, and where the
    course is not built.
    """
    room = _fresh_course(course, folder)
    made = make_class(room, room.root / "submitted", students, seed)
    print(f"{len(made)} students have handed in {sum(map(len, made.values()))} notebooks", flush=True)
    failures: Failures = {}
    _for_each("graded", gradebook.autograde, room, failures)
    _for_each("feedback for", gradebook.generate_feedback, room, failures)
    gradebook.export(room, room.root / "grades.csv")
    print(f"\n{grade_table(gradebook.scores(room), failures)}\n")
    print(_where(room, folder))
    return failures


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
    gradebook.enter(room, ASSIGNMENTS)
    return room


def _for_each(
    what: str, act: Callable[[Course, Assignment], dict[str, str]], room: Course, failures: Failures
) -> None:
    for number, one in enumerate(ASSIGNMENTS, 1):
        begun = time.monotonic()
        for student, reason in act(room, one).items():
            failures.setdefault(student, {})[one.name] = reason
        seconds = time.monotonic() - begun
        print(f"[{number}/{len(ASSIGNMENTS)}] {what} {one.name}: {seconds:.0f} s", flush=True)


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
