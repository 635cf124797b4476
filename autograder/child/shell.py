"""An IPython shell that records what its cells put out, as a notebook's outputs."""

import ast
import base64
import builtins
import io
import re
import subprocess
import sys
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type

from ..observe.run import describe

TEXT_LIMIT = 20_000  # characters of one cell's streams that are kept
DATA_LIMIT = 2_000_000  # characters of one cell's pictures and the like
ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")  # another one in each run, and of no use in a notebook
DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
NOBODY = "input() was called: nobody answers while a notebook is graded, so it returned ''.\n"


class Recorder:
    """The outputs of the cell that is running, bounded in size."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self._text, self._data = TEXT_LIMIT, DATA_LIMIT

    def stream(self, name: str, text: str) -> None:
        if self._text <= 0 or not text:
            return
        text = ADDRESS.sub("at 0x...", text)
        if len(text) > self._text:
            text = text[: self._text] + f"\n... cut: a cell's text is kept to {TEXT_LIMIT:,} characters\n"
        self._text -= len(text)
        last = self.outputs[-1] if self.outputs else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self.outputs.append({"output_type": "stream", "name": name, "text": text})

    def data(self, kind: str, data: dict[str, Any]) -> None:
        plain = {str(mime): _as_text(value) for mime, value in data.items()}
        if "text/plain" in plain:
            plain["text/plain"] = ADDRESS.sub("at 0x...", plain["text/plain"])
        self._data -= sum(map(len, plain.values()))
        if self._data < 0:
            plain = {"text/plain": "(left out: too large)"}
        output: dict[str, Any] = {"output_type": kind, "data": plain, "metadata": {}}
        if kind == "execute_result":
            output["execution_count"] = None
        self.outputs.append(output)

    def error(self, kind: str, text: str, traceback: list[str]) -> None:
        lines = [ADDRESS.sub("at 0x...", str(line)[:2000]) for line in traceback[-40:]]
        self.outputs.append(
            {"output_type": "error", "ename": kind[:200], "evalue": text[:2000], "traceback": lines}
        )


def _as_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


class _Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of the cells."""

    encoding = "utf-8"

    def __init__(self, name: str, recorder: Recorder) -> None:
        self._name, self._recorder = name, recorder

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._recorder.stream(self._name, str(text))
        return len(text)


class _Publisher(DisplayPublisher):
    def publish(self, data: dict[str, Any], metadata: Any = None, **_: Any) -> None:
        self.shell.recorder.data("display_data", data)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.recorder.start()


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        """The prompt is the notebook's affair."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        self.shell.recorder.data("execute_result", format_dict)


class Shell(InteractiveShell):
    """Runs cells as a kernel would, and records what they put out."""

    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_Hook)

    def __init__(self, **settings: Any) -> None:
        self.recorder = Recorder()
        super().__init__(**settings)
        self._streams = [_Stream(name, self.recorder) for name in ("stdout", "stderr")]
        builtins.input = self._nobody_answers

    def init_history(self) -> None:
        self.config.HistoryManager.enabled = False  # nothing of one run is left for another
        super().init_history()

    def system(self, cmd: str) -> None:
        """`!cmd`, by pipes: there is no terminal here."""
        line = self.var_expand(cmd, depth=1)
        done = subprocess.run(line, check=False, shell=True, capture_output=True, text=True, errors="replace")
        self.recorder.stream("stdout", done.stdout)
        self.recorder.stream("stderr", done.stderr)
        self.user_ns["_exit_code"] = done.returncode

    def enable_gui(self, gui: str | None = None) -> None:
        """No window system's event loop is started."""

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:
        self.recorder.error(etype.__name__, describe(evalue)["text"], stb)

    def _nobody_answers(self, prompt: object = "") -> str:
        self.recorder.stream("stdout", f"{prompt}\n{NOBODY}")
        return ""

    def run(self, source: str, rescue: bool = False) -> dict[str, Any]:
        """Runs one cell; returns its outputs, and its error described or None.

        With `rescue`, what the cell defines after a line that failed is defined all the same.
        """
        self.recorder.start()
        sys.stdout, sys.stderr = self._streams  # whatever the last cell made of them
        try:
            result = self.run_cell(source, store_history=True)
            error = result.error_before_exec or result.error_in_exec
        except Exception as failure:  # the cell has broken the shell's own machinery
            error = failure
        if rescue and error is not None and not isinstance(error, SyntaxError):
            self._define_rest(source, error)
        return {"outputs": self.recorder.outputs, "error": describe(error) if error else None}

    def _define_rest(self, source: str, error: BaseException) -> None:
        tree = ast.parse(self.transform_cell(source))
        trace = error.__traceback__
        reached = 0
        while trace is not None:
            if trace.tb_frame.f_globals is self.user_ns and trace.tb_frame.f_code.co_name == "<module>":
                reached = trace.tb_lineno
            trace = trace.tb_next
        for node in tree.body:
            if isinstance(node, DEFINES) and node.lineno > reached:
                code = compile(ast.Module([node], []), "<cell>", "exec")
                try:
                    exec(code, self.user_ns)
                except Exception:  # it needs what the failed line would have made: not to be had
                    continue
