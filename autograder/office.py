"""Grades a class from beginning to end, and tells the person who waits for it."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import OperationalError

from .classroom import Classroom, Order, Progress
from .course import Course, CourseError
from .grade import Unconfined
from .gradebook import Book
from .handback import hand_back
from .nbgrader_plugin import enter, settings
from .report import as_json, changes, pages_made, progress_line, summary
from .shelf import Shelf
from .workers import Crew, Gone

DONE, SOME_FAILED, REFUSED, STOPPED, INTERRUPTED = 0, 1, 2, 3, 130  # exit codes
TELL_SECONDS = 10.0  # between lines of progress, where nobody watches


@dataclass(frozen=True)
class Outcome:
    """How grading a class ended: the exit code, and how far it came."""

    code: int
    progress: Progress


def grade_class(
    course: Course, order: Order, crew: Crew, db_url: str | None = None, for_programs: bool = False
) -> Outcome:
    """Grades what waits, prints progress and a summary, which is JSON `for_programs`."""
    nbgrader = settings(course, db_url)
    if not (course.root / "submitted").is_dir():
        raise CourseError(f"{course.root / 'submitted'} is missing: 'nbgrader collect' makes it, or you do")
    with (
        Shelf(course.root, "autograded", groupshared=nbgrader.groupshared) as shelf,
        Book(nbgrader.db_url, nbgrader.course_id, nbgrader.config) as book,
    ):
        for one in order.assignments:
            if not book.knows(one) and course.students_of("submitted", one, order.students):
                enter(course, one, nbgrader.db_url)
                print(f"{one.name}: entered into the gradebook", file=sys.stderr)
        room = Classroom(course, book, shelf, order)
        code, why = _until_stopped(room, crew)
    progress = room.progress
    seconds = time.monotonic() - progress.begun
    code = code or (SOME_FAILED if progress.failed else DONE)
    if for_programs:
        print(json.dumps(as_json(progress, seconds, code)))
    else:
        print(summary(progress, seconds))
        if order.regrade:
            print(changes(progress))
    if why:
        print(f"autograder: {why}", file=sys.stderr)
    return Outcome(code, progress)


def make_feedback(course: Course, order: Order, crew: Crew, db_url: str | None = None) -> int:
    """Makes the feedback pages of what is graded, prints what was made, and returns the exit code."""
    nbgrader = settings(course, db_url)
    begun = time.monotonic()
    with (
        Shelf(course.root, "feedback", 0o644, nbgrader.groupshared) as shelf,
        Book(nbgrader.db_url, nbgrader.course_id, nbgrader.config) as book,
    ):
        made, failed = hand_back(course, book, shelf, order, crew)
    print(pages_made(made, failed, time.monotonic() - begun))
    return SOME_FAILED if failed else DONE


def _until_stopped(room: Classroom, crew: Crew) -> tuple[int, str]:
    """Lets the class be graded; the exit code and the reason where that was stopped."""
    teller = _Teller()
    again = "what is graded is kept: run the same command again to go on"
    try:
        room.grade(crew, teller.tell)
    except KeyboardInterrupt:
        return INTERRUPTED, f"stopped; {again}"
    except Unconfined as error:
        return REFUSED, str(error)
    except (OSError, OperationalError, Gone) as error:
        return STOPPED, f"stopped, {_reason(error)}; {again}"
    finally:
        teller.end()
    return DONE, ""


def _reason(error: Exception) -> str:
    if isinstance(error, OperationalError):
        return f"the gradebook does not answer: {str(error.orig).strip().splitlines()[0]}"
    if isinstance(error, OSError) and error.filename:
        return f"{error.strerror}: {Path(error.filename)}"
    return str(error)


class _Teller:
    """Prints progress: one line that changes where somebody watches, else a line now and then."""

    def __init__(self) -> None:
        self._watched = sys.stderr.isatty()
        self._last = 0.0
        self._open = False

    def tell(self, progress: Progress) -> None:
        line = progress_line(progress)
        if self._watched:
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
            self._open = True
        elif time.monotonic() - self._last >= TELL_SECONDS:
            print(line, file=sys.stderr, flush=True)
            self._last = time.monotonic()

    def end(self) -> None:
        if self._open:
            print(file=sys.stderr)
