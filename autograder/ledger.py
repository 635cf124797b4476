"""What a regrading has come to, in a file: the same command goes on where it was stopped."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .gradebook import Change
from .shelf import Key


class Ledger:
    """A line of JSON for what was asked, then one for each submission that was graded again.

    `changes` has the scores before and after, from all runs together. A ledger of another order is begun
    anew.
    """

    def __init__(self, path: Path, asked: Sequence[object]) -> None:
        self._path = path
        self.changes: dict[Key, Change] = {}
        head, *lines = self._lines() or [None]
        if head == [*asked]:
            self._enter(Change(*line) for line in lines)
        else:
            path.write_text(json.dumps([*asked]), "utf-8")

    def add(self, changes: Sequence[Change]) -> list[Change]:
        """Notes what was graded again; returns it, with the scores that were there at first."""
        with self._path.open("a", encoding="utf-8") as file:
            for one in changes:
                file.write(f"\n{json.dumps([one.student, one.assignment, one.before, one.after])}")
        self._enter(changes)
        return [self.changes[one.assignment, one.student] for one in changes]

    def end(self) -> None:
        """All is graded again."""
        self._path.unlink(missing_ok=True)

    def _enter(self, changes: Iterable[Change]) -> None:
        for one in changes:
            key = one.assignment, one.student
            first = self.changes.get(key, one)
            self.changes[key] = Change(one.student, one.assignment, first.before, one.after)

    def _lines(self) -> list[Any]:
        """The lines that are whole: a grader may have been killed while it wrote one."""
        found = []
        for line in self._path.read_text("utf-8").splitlines() if self._path.exists() else ():
            with suppress(ValueError):
                found.append(json.loads(line))
        return found
