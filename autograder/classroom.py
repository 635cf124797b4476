"""The class: which submissions wait, who marks them, what becomes of the results, how far it has come."""

import errno
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from .course import Assignment, Course, CourseError
from .grade import Terms, Unconfined
from .gradebook import Book, Change, parse_time
from .ledger import Ledger
from .marking import Master, Result, Task, carry_out
from .shelf import Key, Shelf, other_files
from .submission import is_plain_file, read_folder, read_start, writable
from .workers import Crew, carry

BATCH_SECONDS = 0.5  # results wait so long at most before they are put down together
BATCH = 50
TIMESTAMP, STAMP_SIZE = "timestamp.txt", 200  # bytes
OWN_FILES, OWN_SIZE = 1_000, 100 * 2**20  # files beside a notebook, and their bytes, that are kept with it
LOST = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS)  # the disk's errors, not one file's


@dataclass(frozen=True)
class Order:
    """What is to be graded: assignments, students by a pattern with `*`; also what was graded before?"""

    assignments: Sequence[Assignment]
    students: str = "*"
    regrade: bool = False
    terms: Terms = field(default_factory=Terms)


@dataclass
class Progress:
    """How far a class has come. Seconds are counted from the start."""

    to_grade: int
    skipped: int
    regrading: bool = False
    begun: float = field(default_factory=time.monotonic)
    graded: int = 0
    unreadable: dict[Key, str] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)
    untimed: dict[Key, str] = field(default_factory=dict)
    left_out: dict[Key, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    to_mark: int = 0
    layers: tuple[str, ...] = ()

    @property
    def done(self) -> int:
        return self.graded + len(self.failed)

    @property
    def rate(self) -> float:
        """Submissions a second."""
        return self.done / max(time.monotonic() - self.begun, 1e-3)

    @property
    def seconds_left(self) -> float:
        return (self.to_grade - self.done) / self.rate if self.done else float("inf")


def waiting(
    course: Course, order: Order, done: set[Key], strays: Collection[Key]
) -> tuple[list[tuple[Assignment, str]], int]:
    """The submissions of `order` that wait, and how many are `done` already.

    As with nbgrader, one that was graded is graded again where a later one has been handed in. Raises
    CourseError where the order names students and none of them has handed in anything.
    """
    found, skipped = [], 0
    for one in order.assignments:
        for student in course.students_of("submitted", one, order.students):
            folder = course.folder("submitted", one.name, student)
            graded = course.folder("autograded", one.name, student)
            if (one.name, student) in done and not _is_newer(folder, graded):
                skipped += 1
            else:
                found.append((one, student))
    if order.students != "*" and not (found or skipped or strays):
        raise CourseError(f"nobody called {order.students!r} has handed in any of these assignments")
    return found, skipped


def _is_newer(folder: Path, graded: Path) -> bool:
    new, old = (time_of(stamp_in(one))[0] for one in (folder, graded))
    return new is not None and (old is None or new > old)


def stamp_in(folder: Path) -> bytes | None:
    """What the timestamp of a submission says, None where there is none."""
    path = folder / TIMESTAMP
    try:
        return read_start(path, STAMP_SIZE) if is_plain_file(path) else None
    except OSError:
        return None


def time_of(stamp: bytes | None) -> tuple[datetime | None, str]:
    """When a submission was handed in, and what its timestamp says where that is no time."""
    text = (stamp or b"").decode("utf-8", "replace").strip()
    try:
        return (parse_time(text) if text else None), ""
    except (ValueError, OverflowError):
        return None, text[:60]


def _ledger(shelf: Shelf, order: Order) -> Ledger:
    return Ledger(shelf.ledger, [*(one.name for one in order.assignments), order.students])


class Classroom:
    """Grades a class: workers take bytes and return results, this process writes them down."""

    def __init__(self, course: Course, book: Book, shelf: Shelf, order: Order) -> None:
        self._course, self._book, self._shelf, self._order = course, book, shelf, order
        self._ledger = _ledger(shelf, order) if order.regrade else None
        graded = set(self._ledger.changes) if self._ledger else book.graded()
        done = {key for key in graded if shelf.place(key).is_dir()} - shelf.unfinished()
        found = course.strays(order.assignments, order.students)
        strays = {(name, writable(student)): why for (name, student), why in found.items()}
        self._waiting, skipped = waiting(course, order, done, strays)
        to_grade = len(self._waiting) + len(strays)
        self.progress = Progress(to_grade, skipped, order.regrade, failed=strays)
        if self._ledger:
            self.progress.changes += [self._ledger.changes[key] for key in sorted(done)]
        self._beside: dict[str, list[tuple[Path, Path]]] = {}

    def grade(self, crew: Crew, tell: Callable[[Progress], None]) -> Progress:
        """Grades what waits; calls `tell` whenever results have been put down.

        Raises OSError or SQLAlchemy's OperationalError where disk or database are lost, and Gone where
        the cluster is; what was put down stays, and another call goes on with the rest.
        """
        batch: list[Result] = []
        last = self.progress.begun
        for task, outcome in carry(crew, carry_out, self._tasks()):
            if isinstance(outcome, BaseException):
                self._fail(task, outcome)
            else:
                batch.append(outcome)
            if len(batch) >= BATCH or time.monotonic() - last >= BATCH_SECONDS:
                self._put_down(batch)
                batch, last = [], time.monotonic()
                tell(self.progress)
        self._put_down(batch)
        tell(self.progress)
        if self._ledger and not self.progress.failed:
            self._ledger.end()
        return self.progress

    def _tasks(self) -> Iterator[Task]:
        masters: Mapping[str, Master] = {
            one.name: self._book.master(one, self._course.read_released(one))
            for one in self._order.assignments
            if any(one is wanted for wanted, _ in self._waiting)
        }
        for one, student in self._waiting:
            if writable(student) != student:
                why = "the name of its folder is not in UTF-8: rename it"
                self.progress.failed[one.name, writable(student)] = why
                continue
            folder = self._folder((one.name, student))
            stamp = stamp_in(folder)  # first: what is handed in from now on is newer than what is graded
            try:
                notebooks = read_folder(folder, one.file)
            except OSError as error:
                self.progress.failed[one.name, student] = f"it cannot be read: {error}"
                continue
            seed = self._course.seed(student)
            yield Task(student, masters[one.name], notebooks, seed, self._order.terms, stamp)

    def _fail(self, task: Task, error: BaseException) -> None:
        if isinstance(error, Unconfined):
            raise error
        self.progress.failed[task.master.assignment, task.student] = f"{type(error).__name__}: {error}"

    def _put_down(self, batch: Sequence[Result]) -> None:
        if not batch:
            return
        keys = [(result.assignment, result.student) for result in batch]
        marked = [(result, self._time_in(result, key)) for result, key in zip(batch, keys, strict=True)]
        try:
            for result, key in zip(batch, keys, strict=True):
                self._stage(result, key)
            self._shelf.announce(keys)
            changes = self._book.record(marked)
            self.progress.changes += self._ledger.add(changes) if self._ledger else changes
            self._shelf.settle(keys)
        finally:
            self._shelf.drop_staged()
        for result, key in zip(batch, keys, strict=True):
            self._count(result, key)

    def _count(self, result: Result, key: Key) -> None:
        self.progress.graded += 1
        self.progress.layers = result.layers
        self.progress.to_mark += sum(score is None for score in result.scores.values())
        if result.reason:
            self.progress.unreadable[key] = result.reason

    def _stage(self, result: Result, key: Key) -> None:
        """Puts a graded folder aside; without the student's own files where they cannot be copied."""
        ours = self._files(result)
        try:
            self._shelf.stage(key, [*self._own_files(key, {path for path, _ in ours}), *ours])
        except OSError as error:
            if error.errno in LOST:
                raise
            self.progress.left_out[key] = f"all of them: {error.strerror}"
            self._shelf.stage(key, ours)

    def _files(self, result: Result) -> list[tuple[Path, bytes | Path]]:
        """What is in every graded folder: the course's files, the graded notebook, when it was handed in."""
        one = next(one for one in self._order.assignments if one.name == result.assignment)
        if one.name not in self._beside:
            self._beside[one.name] = other_files(self._course.source / one.name)
        stamped = [] if result.stamp is None else [(Path(TIMESTAMP), result.stamp)]
        return [*self._beside[one.name], *stamped, (Path(one.file), result.notebook)]

    def _own_files(self, key: Key, ours: set[Path]) -> list[tuple[Path, Path]]:
        """What else the student handed in, save what is in the way of our files, or too much."""
        kept: list[tuple[Path, Path]] = []
        left_out, room = [], OWN_SIZE
        for path, place in other_files(self._folder(key)):
            if path in ours:
                continue
            size = place.stat().st_size
            in_the_way = any(one in path.parents or path in one.parents for one in ours)
            if in_the_way or size > room or len(kept) == OWN_FILES:
                left_out.append(writable(str(path)))
            else:
                kept.append((path, place))
                room -= size
        if left_out:
            self.progress.left_out[key] = ", ".join(left_out[:3]) + (", ..." if left_out[3:] else "")
        return kept

    def _time_in(self, result: Result, key: Key) -> datetime | None:
        when, unreadable = time_of(result.stamp)
        if unreadable:
            self.progress.untimed[key] = unreadable
        return when

    def _folder(self, key: Key) -> Path:
        return self._course.folder("submitted", *key)
