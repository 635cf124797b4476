"""The class: which submissions wait, who marks them, what becomes of the results, how far it has come."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from .course import Assignment, Course
from .grade import Terms, Unconfined
from .gradebook import Book, Change, parse_time
from .marking import Master, Result, Task, carry_out
from .shelf import Key, Shelf, other_files
from .submission import read_folder
from .workers import Crew, carry

BATCH_SECONDS = 0.5  # results wait so long at most before they are put down together
BATCH = 50
TIMESTAMP = "timestamp.txt"


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
    begun: float = field(default_factory=time.monotonic)
    graded: int = 0
    unreadable: dict[Key, str] = field(default_factory=dict)
    failed: dict[Key, str] = field(default_factory=dict)
    untimed: dict[Key, str] = field(default_factory=dict)
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


def waiting(course: Course, order: Order, done: set[Key]) -> tuple[list[tuple[Assignment, str]], int]:
    """The submissions of `order` that wait, and how many are `done` already.

    As with nbgrader, one that was graded is graded again where a later one has been handed in.
    """
    found, skipped = [], 0
    for one in order.assignments:
        for student in course.students_of("submitted", one, order.students):
            folder = course.folder("submitted", one.name, student)
            graded = course.folder("autograded", one.name, student)
            if not order.regrade and (one.name, student) in done and not _is_newer(folder, graded):
                skipped += 1
            else:
                found.append((one, student))
    return found, skipped


def _is_newer(folder: Path, graded: Path) -> bool:
    new, old = time_in(folder)[0], time_in(graded)[0]
    return new is not None and old is not None and new > old


def time_in(folder: Path) -> tuple[datetime | None, str]:
    """When a submission was handed in, and what its timestamp says where that is no time."""
    try:
        text = (folder / TIMESTAMP).read_text("utf-8", errors="replace").strip()
    except OSError:
        return None, ""
    try:
        return (parse_time(text) if text else None), ""
    except (ValueError, OverflowError):
        return None, text[:60]


class Classroom:
    """Grades a class: workers take bytes and return results, this process writes them down."""

    def __init__(self, course: Course, book: Book, shelf: Shelf, order: Order) -> None:
        self._course, self._book, self._shelf, self._order = course, book, shelf, order
        done = {key for key in book.graded() if shelf.place(key).is_dir()} - shelf.unfinished()
        self._waiting, skipped = waiting(course, order, done)
        self.progress = Progress(len(self._waiting), skipped)
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
        return self.progress

    def _tasks(self) -> Iterator[Task]:
        masters: Mapping[str, Master] = {
            one.name: self._book.master(one, self._course.released(one).read_bytes())
            for one in self._order.assignments
            if any(one is wanted for wanted, _ in self._waiting)
        }
        for one, student in self._waiting:
            try:
                notebooks = read_folder(self._folder((one.name, student)))
            except OSError as error:
                self.progress.failed[one.name, student] = f"it cannot be read: {error}"
                continue
            seed = self._course.seed(student)
            yield Task(student, masters[one.name], notebooks, seed, self._order.terms)

    def _fail(self, task: Task, error: BaseException) -> None:
        if isinstance(error, Unconfined):
            raise error
        self.progress.failed[task.master.assignment, task.student] = f"{type(error).__name__}: {error}"

    def _put_down(self, batch: Sequence[Result]) -> None:
        if not batch:
            return
        keys = [(result.assignment, result.student) for result in batch]
        marked = [(result, self._time_in(key)) for result, key in zip(batch, keys, strict=True)]
        try:
            for result, key in zip(batch, keys, strict=True):
                self._shelf.stage(key, self._files(result, key))
            self._shelf.announce(keys)
            self.progress.changes += self._book.record(marked)
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

    def _files(self, result: Result, key: Key) -> list[tuple[Path, bytes | Path]]:
        """A graded folder's files: the student's, the course's in their place, the graded notebook."""
        one = next(one for one in self._order.assignments if one.name == result.assignment)
        if one.name not in self._beside:
            self._beside[one.name] = other_files(self._course.source / one.name)
        files: dict[Path, bytes | Path] = dict(other_files(self._folder(key)))
        files.update(self._beside[one.name])
        return [*files.items(), (Path(one.file), result.notebook)]

    def _time_in(self, key: Key) -> datetime | None:
        when, unreadable = time_in(self._folder(key))
        if unreadable:
            self.progress.untimed[key] = unreadable
        return when

    def _folder(self, key: Key) -> Path:
        return self._course.folder("submitted", *key)
