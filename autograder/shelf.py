"""The folders of graded submissions: written aside, then moved into their places, under a journal.

What is put down lies first in `.grading/staged`. The journal names the submissions whose scores are
about to be entered and whose folders are about to be moved; while it exists, they count as not graded,
whatever is in their places. So a grader that is killed at any moment leaves nothing that a later one
would take for done.
"""

import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from .course import CourseError
from .submission import is_plain_file

FOLDER = ".grading"
Key = tuple[str, str]  # assignment and student


class Busy(CourseError):
    """Another grader is at work on this course."""


class Shelf:
    """The folder `step` of a course, such as autograded: one folder a submission.

    Use it as a context manager: it holds a lock, so that one process at a time writes.
    """

    def __init__(self, root: Path, step: str, mode: int = 0o444, groupshared: bool = False) -> None:
        self.root, self.step = root, step
        self._mode = 0o664 if groupshared else mode
        self._folder = root / FOLDER / step
        self._staged = self._folder / "staged"
        self._replaced = self._folder / "replaced"
        self._journal = self._folder / "journal.json"
        self._groupshared = groupshared
        self._numbers: dict[Key, int] = {}  # of the folders that lie aside

    def __enter__(self) -> "Shelf":
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self._folder / "lock")
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise Busy(f"another process is at work on {self.root / self.step}: wait until it ends") from None
        self._clear()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._clear()
        finally:
            self._lock.release()

    @property
    def ledger(self) -> Path:
        """Where a regrading notes how far it has come."""
        return self._folder / "regraded.jsonl"

    def unfinished(self) -> set[Key]:
        """The submissions that an earlier grader was putting down when it was stopped."""
        try:
            return {(name, student) for name, student in json.loads(self._journal.read_text("utf-8"))}
        except FileNotFoundError:
            return set()
        except ValueError:
            advice = "delete it, and grade again with --regrade"
            raise CourseError(f"{self._journal} is damaged: {advice}") from None

    def place(self, key: Key) -> Path:
        """Where a submission's folder is."""
        name, student = key
        return self.root / self.step / student / name

    def stage(self, key: Key, files: Iterable[tuple[Path, bytes | Path]]) -> None:
        """Writes a submission's folder aside: files by their path in it, as bytes or to be copied."""
        folder = self._aside(self._staged, key)
        shutil.rmtree(folder, ignore_errors=True)  # an attempt that failed
        folder.mkdir(parents=True)
        for path, content in files:
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                target.write_bytes(content)
            else:
                shutil.copyfile(content, target)
            target.chmod(self._mode)

    def announce(self, keys: Sequence[Key]) -> None:
        """Writes the journal: from here on `keys` count as not graded, until `settle`."""
        self._write_journal({*keys, *self.unfinished()})

    def settle(self, keys: Sequence[Key]) -> None:
        """Moves the staged folders of `keys` into their places, and takes them off the journal."""
        for key in keys:
            place, old = self.place(key), self._aside(self._replaced, key)
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.exists():
                old.parent.mkdir(parents=True, exist_ok=True)
                place.rename(old)
            self._aside(self._staged, key).rename(place)
            if self._groupshared:
                for folder in (place, place.parent):
                    share(folder)
        sync()  # before the journal forgets them
        left = self.unfinished() - set(keys)
        if left:
            self._write_journal(left)
        else:
            self._journal.unlink(missing_ok=True)
        shutil.rmtree(self._replaced, ignore_errors=True)

    def drop_staged(self) -> None:
        """Removes what was written aside."""
        shutil.rmtree(self._staged, ignore_errors=True)
        self._numbers.clear()

    def _write_journal(self, keys: Iterable[Key]) -> None:
        draft = self._journal.with_suffix(".new")
        with draft.open("w", encoding="utf-8") as file:
            json.dump([*map(list, keys)], file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._journal)

    def _clear(self) -> None:
        self.drop_staged()
        shutil.rmtree(self._replaced, ignore_errors=True)

    def _aside(self, folder: Path, key: Key) -> Path:
        return folder / str(self._numbers.setdefault(key, len(self._numbers)))


def share(folder: Path) -> None:
    """Lets the group write, where it may not; somebody else's folder stays as it is."""
    mode = folder.stat().st_mode
    if mode & 0o2770 != 0o2770:
        with suppress(PermissionError):
            folder.chmod(mode & 0o7777 | 0o2770)


def sync() -> None:
    """Has what was written reach the disk, where the system knows how."""
    if hasattr(os, "sync"):
        os.sync()


def other_files(folder: Path) -> list[tuple[Path, Path]]:
    """What lies in a submission beside its notebooks: paths in it and where they are; no links."""
    found = []
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        if is_plain_file(path) and path.suffix != ".ipynb":
            found.append((path.relative_to(folder), path))
    return found
