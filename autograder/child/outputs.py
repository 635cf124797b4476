"""What a cell puts out, as a notebook keeps it: in a kernel's order, bounded in size."""

import base64
import io
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar

TEXT_LIMIT = 20_000  # characters of one cell's streams that are kept
DATA_LIMIT = 2_000_000  # characters of one cell's pictures and the like
FRAMES = 20  # at each end of a traceback that are kept
DEPTH_LIMIT = 20  # of JSON that is displayed
ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")  # another one in each run, and of no use in a notebook

Output = dict[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class Recorder:
    """The outputs of the cell that is running.

    As in a kernel, what is printed waits until its stream is flushed, something else is shown or the cell
    ends; then standard output comes before standard error.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # threads print, too
        self.start()

    def start(self) -> None:
        """Begins a cell."""
        self._outputs: list[Output] = []
        self._shown: dict[str, list[Output]] = {}  # by display id
        self._waiting: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._text, self._data = TEXT_LIMIT, DATA_LIMIT
        self._clears = False

    def finish(self) -> list[Output]:
        """All outputs of the cell."""
        self.flush()
        return self._outputs

    def write(self, name: str, text: str) -> None:
        """Prints to the stream `name`; what exceeds the limit is dropped."""
        with self._lock:
            if self._text <= 0 or not text:
                return
            text = ADDRESS.sub("at 0x...", text)
            if len(text) > self._text:
                text = text[: self._text] + f"\n... cut: a cell's text is kept to {TEXT_LIMIT:,} characters\n"
            self._text -= len(text)
            self._waiting[name].append(text)

    def flush(self, *names: str) -> None:
        """Lets what was printed to these streams, or to all, take its place among the outputs."""
        with self._lock:
            for name in names or ("stdout", "stderr"):
                text = "".join(self._waiting[name])
                self._waiting[name].clear()
                if text:
                    self._stream(name, text)

    def data(self, kind: str, data: Any, metadata: Any = None, display_id: Any = None) -> None:
        """Something is displayed, or a cell's result."""
        with self._lock:
            self.flush()
            output: Output = {"output_type": kind, **self._bundle(data, metadata)}
            if kind == "execute_result":
                output["execution_count"] = None
            if display_id is not None:
                self._update(display_id, output)
                self._shown.setdefault(str(display_id), []).append(output)
            self._add(output)

    def update(self, data: Any, metadata: Any, display_id: Any) -> None:
        """Replaces what this cell has displayed by that id; an earlier cell's outputs are gone from here."""
        with self._lock:
            self.flush()
            self._update(display_id, self._bundle(data, metadata))

    def error(self, kind: str, text: str, traceback: list[str], left_out: int = 0) -> None:
        """A traceback is shown, in whose middle so many calls are `left_out` already."""
        with self._lock:
            self.flush()
            shown = _middle_cut(traceback, left_out)
            lines = [ADDRESS.sub("at 0x...", str(line)[:2000]) for line in shown]
            self._add(
                {"output_type": "error", "ename": kind[:200], "evalue": text[:2000], "traceback": lines}
            )

    def clear(self, wait: bool) -> None:
        """Forgets the outputs so far, or will do so when there is another one."""
        with self._lock:
            self.flush()
            self._clears = wait
            if not wait:
                self._outputs.clear()

    def _stream(self, name: str, text: str) -> None:
        last = self._outputs[-1] if self._outputs and not self._clears else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self._add({"output_type": "stream", "name": name, "text": text})

    def _add(self, output: Output) -> None:
        if self._clears:
            self._outputs.clear()
            self._clears = False
        self._outputs.append(output)

    def _update(self, display_id: Any, output: Output) -> None:
        for shown in self._shown.get(str(display_id), ()):
            shown.update(data=output["data"], metadata=output["metadata"])

    def _bundle(self, data: Any, metadata: Any) -> Output:
        plain = {str(mime): _plain(value) for mime, value in data.items()}
        if isinstance(text := plain.get("text/plain"), str):
            plain["text/plain"] = ADDRESS.sub("at 0x...", text)
        about = _plain(metadata or {})
        self._data -= len(str(plain)) + len(str(about))
        if self._data < 0:
            return {"data": {"text/plain": "(left out: too large)"}, "metadata": {}}
        return {"data": plain, "metadata": about}


def _plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON has it, or else as text."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if depth < DEPTH_LIMIT:
        if isinstance(value, dict):
            return {str(key): _plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [_plain(item, depth + 1) for item in value]
        if value is None or type(value) in (bool, int) or (type(value) is float and value - value == 0):
            return value
    return str(value)


def _middle_cut(traceback: list[str], left_out: int) -> list[str]:
    """A traceback without the middle of a long recursion."""
    if len(traceback) <= 2 * FRAMES:
        return traceback
    more = len(traceback) - 2 * FRAMES + left_out
    return [*traceback[:FRAMES], f"... cut: {more:,} calls more\n", *traceback[-FRAMES:]]


def placeless(function: Function) -> Function:
    """Gives a function's lines no file: where it lies is of no use in a student's traceback."""
    function.__code__ = function.__code__.replace(co_filename="<grading>")
    return function


class OutStream(io.TextIOBase):
    """sys.stdout or sys.stderr of the cells, named as a kernel's class."""

    encoding = "UTF-8"

    def __init__(self, name: str, recorder: Recorder) -> None:
        self.name, self._recorder = name, recorder

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    @placeless
    def write(self, text: str) -> int:
        """Prints `text`; raises TypeError where it is none."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        self._recorder.write(self.name, text)
        return len(text)

    def flush(self) -> None:
        self._recorder.flush(self.name)

    def close(self) -> None:
        """Does nothing: later cells print, too."""
