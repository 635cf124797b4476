"""Runs an observer beside the student's code and records what it sees as plain data."""

import os
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .plain import NotPlain, plain

Case = Mapping[str, Any]
Namespace = Mapping[str, Any]
Observer = Callable[[Namespace, Case], Iterator[tuple[str, Any]]]
Observation = dict[str, Any]

NOT_THE_STUDENTS = (
    os.path.dirname(os.path.dirname(__file__)),
    *(sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")),
)
LINES = 4


class Missing(LookupError):
    """An answer's name that the notebook does not define."""


class Names(Mapping[str, Any]):
    """The notebook's names; one that is missing is reported as the student would say it."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> Any:
        try:
            return self._names[name]
        except KeyError:
            raise Missing(f"`{name}` is not defined: is its cell filled in?") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def observations(observer: Observer, names: Namespace, cases: Iterable[Case]) -> Iterator[Observation]:
    """One observation for each case, made when it is asked for: the parts seen, and the error that ended it.

    An error is None or `{"type", "text", "lines"}`; `lines` are the student's own, innermost last, each
    `[number, text]`. What a case has shown before its error counts.
    """
    return (_observe(observer, Names(names), case) for case in cases)


def _observe(observer: Observer, names: Namespace, case: Case) -> Observation:
    parts: dict[str, Any] = {}
    try:
        for part, value in observer(names, case):
            parts[part] = plain(value)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return {"parts": parts, "error": describe(error)}
    return {"parts": parts, "error": None}


def describe(error: BaseException) -> dict[str, Any]:
    """An exception as plain data: its type, its text, and the student's lines that led to it."""
    kind = "answer" if isinstance(error, NotPlain | Missing) else type(error).__name__
    return {"type": str(kind)[:80], "text": _text(error)[:300], "lines": student_lines(error)}


def _text(error: BaseException) -> str:
    if isinstance(error, RecursionError):  # its own words depend on where the limit was met
        return "a function calls itself without end"
    try:
        return str(error)
    except Exception:  # an exception class of the student's own may fail to print itself
        return "(its message cannot be printed)"


def student_lines(error: BaseException) -> list[list[Any]]:
    """The last lines of the student's own code on the way to `error`, as `[number, text]`."""
    if isinstance(error, SyntaxError):
        return [[error.lineno or 1, (error.text or "").strip()[:120]]]
    frames = traceback.extract_tb(error.__traceback__, limit=-200)
    own = [frame for frame in frames if not frame.filename.startswith(NOT_THE_STUDENTS)]
    lines = [[frame.lineno, (frame.line or "").strip()[:120]] for frame in own]
    return lines[-LINES:]
