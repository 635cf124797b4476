"""The near end: starts a child, asks it, bounds what comes back, ends it for good."""

import base64
import json
import math
import queue
import re
import secrets
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .start import start

REPLY_LIMIT = 8_000_000  # bytes of one reply, a figure or two
DEPTH_LIMIT = 40
DIGITS = 300  # of a whole number that can be compared with others
UNREAD = 2  # replies that may wait; nobody sends one that was not asked for
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
ROOM = 4096  # bytes that every system's pipes hold
START_SECONDS = 60.0


class Lost(Exception):
    """The child died, fell silent past its time, or sent what is no reply; it is gone."""


class Killed(Lost):
    """The child was killed, from outside: by a person, or by a system short of memory. Not by what it ran."""


class Child:
    """A process that runs student cells and observers and knows nothing of the answers.

    `files` is what lies beside the notebook; without `figures`, none are drawn, only named. Use it as a
    context manager: at its end the process and its folder are gone. `layers` names what confines it, of
    confine.LAYERS.
    """

    def __init__(self, files: Mapping[str, bytes], figures: bool = True) -> None:
        """Starts it; raises Lost where it does not get ready, and OSError where none can be had."""
        self._process = start()
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        beside = {name: base64.b64encode(data).decode() for name, data in files.items()}
        self._send({"files": beside, "figures": figures})
        self.layers: tuple[str, ...] = tuple(self._receive(START_SECONDS)["layers"])

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        """The reply to one request; raises Lost, and ends the child, where none comes in time."""
        token = secrets.token_hex(8)
        self._send({**request, "id": token})
        reply = self._receive(seconds)
        if reply.get("id") != token:
            self._lose("it meddled with the grading")
        return reply

    def close(self, wait: bool = True) -> None:
        """Ends the process and all it started, and removes its folder.

        Without `wait`, which takes as long as a cell or two, they are gone before the next child starts.
        """
        self._process.end(wait)

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        if len(line) <= ROOM:
            # It fits into the pipe, which is empty: whoever replied has read the request to its end, the id.
            self._write(line)
        else:
            # A child that does not read must not stop us: if the line does not go through, no reply comes.
            threading.Thread(target=self._write, args=(line,), daemon=True).start()

    def _write(self, line: bytes) -> None:
        with suppress(OSError, ValueError):  # the child is gone: _receive tells
            self._process.requests.write(line)
            self._process.requests.flush()

    def _read(self) -> None:
        with suppress(OSError, ValueError), self._process.replies as replies:
            while line := replies.readline(REPLY_LIMIT):
                self._lines.put(line)
                if self._lines.qsize() > UNREAD:
                    break
        self._lines.put(b"")

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self._lose(f"it did not finish within {seconds:g} seconds")
        if not line:
            if self._process.end():
                raise Killed("the process it ran in was killed")
            self._lose("it ended the process it ran in")
        if not line.endswith(b"\n"):
            self._lose("it sent back more than any answer needs")
        try:
            text = line.decode()  # json would take UTF-16, too, in which no surrogate is found
            reply = json.loads(text, **NUMBERS)
            if SURROGATE.search(text):  # half a character, perhaps, which no file can hold
                reply = json.loads(json.dumps(reply, ensure_ascii=False).encode(errors="replace"))
        except (ValueError, RecursionError):
            self._lose("it meddled with the grading")
        if not isinstance(reply, dict) or _is_deep(reply):
            self._lose("it meddled with the grading")
        return reply  # type: ignore[no-any-return]

    def _lose(self, why: str) -> None:
        self.close()
        raise Lost(why)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _whole_number(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError("a whole number without end")
    return int(digits)


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text} is no number that JSON has")
    return number


NUMBERS: dict[str, Any] = {
    "parse_constant": _refuse_constant,
    "parse_float": _finite,
    "parse_int": _whole_number,
}


def _is_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than any answer's."""
    level = [value]
    for _ in range(DEPTH_LIMIT):
        nested = [one for one in level if isinstance(one, list | dict)]
        level = [inner for one in nested for inner in (one.values() if isinstance(one, dict) else one)]
        if not level:
            return False
    return True
