"""An IPython shell that behaves as a kernel's does, and records what its cells put out."""

import ast
import asyncio
import builtins
import getpass
import re
import subprocess
import symtable
import sys
import zlib
from types import SimpleNamespace, TracebackType
from typing import Any

from IPython.core import page
from IPython.core.autocall import ZMQExitAutocall
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import DisplayFormatter
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.ultratb import AutoFormattedTB
from traitlets import Any as AnyTrait
from traitlets import Instance, Type

from ..observe.run import describe
from .outputs import FRAMES, OutStream, Recorder, placeless

DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
NOBODY = "input() was called: nobody answers while a notebook is graded, so it returned ''.\n"
# A line that begins with a sign of IPython's, one that asks for help, an assignment of what a magic returns.
MAGIC = re.compile(r"^\s*[%!?,;/]|\?\s*(#.*)?$|=\s*[%!]", re.MULTILINE)
ANSWERS = 20  # of one cell, that nobody gives: a debugger, or a loop that asks again, has to end


class _Publisher(DisplayPublisher):
    def publish(
        self,
        data: dict[str, Any],
        metadata: Any = None,
        *,
        transient: Any = None,
        update: bool = False,
        **_: Any,
    ) -> None:
        display_id = (transient or {}).get("display_id")
        if update:
            self.shell.recorder.update(data, metadata, display_id)
        else:
            self.shell.recorder.data("display_data", data, metadata, display_id)

    def clear_output(self, wait: bool = False) -> None:
        self.shell.recorder.clear(wait)


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        """The prompt is the notebook's affair."""

    def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
        self.shell.recorder.data("execute_result", format_dict, md_dict)


class _Formatter(DisplayFormatter):
    def format(self, obj: Any, include: Any = None, exclude: Any = None) -> Any:
        """An object's kinds of display; of a figure only its text where figures are not drawn."""
        if not self.parent.figures and type(obj).__name__ == "Figure":
            include = ["text/plain"]
        return super().format(obj, include, exclude)


class _Traceback(AutoFormattedTB):
    left_out = 0  # calls that were not looked at since this was last set to zero

    def get_records(self, etb: TracebackType, context: int, tb_offset: int) -> Any:
        """The calls of a traceback; of a long recursion, which takes seconds to look at, the two ends."""
        etb, left_out = _ends(etb)
        self.left_out += left_out
        return super().get_records(etb, context, tb_offset)


def _ends(traceback: TracebackType) -> tuple[TracebackType, int]:
    """A traceback without its middle, where there is one that will not be shown, and how long that is."""
    calls: list[TracebackType] = []
    call: TracebackType | None = traceback
    while call is not None:
        calls.append(call)
        call = call.tb_next
    if (middle := len(calls) - 4 * FRAMES) <= 0:
        return traceback, 0
    ends = calls[-2 * FRAMES]
    for one in reversed(calls[: 2 * FRAMES]):
        ends = TracebackType(ends, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return ends, middle


class _Compiler(CachingCompiler):
    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        """A cell's file name, of a kernel's form: IPython shows other lines of cells named otherwise."""
        return f"/tmp/ipykernel_0/{zlib.crc32(raw_code.encode(errors='replace'))}.py"


class _Transformers(TransformerManager):
    def do_token_transforms(self, lines: list[str]) -> list[str]:
        """Looks for magics and help among a cell's tokens, which takes long, only where there may be any."""
        return super().do_token_transforms(lines) if MAGIC.search("".join(lines)) else lines


def _may_wait(source: str) -> bool:
    return "async" in source or "await" in source


class Shell(InteractiveShell):
    """Runs cells as a kernel would, and records what they put out.

    `figures` says whether figures are drawn, or only named.
    """

    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_Hook)
    compiler_class = Type(_Compiler)
    input_transformer_manager = Instance(_Transformers, ())
    exiter = Instance(ZMQExitAutocall)
    kernel = AnyTrait()  # notebooks ask whether there is one
    figures = True

    def __init__(self, **settings: Any) -> None:
        self.recorder = Recorder()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._answers, self._shows_traceback = 0, True
        super().__init__(**settings)
        self.kernel = SimpleNamespace(shell=self, get_parent=lambda: {"header": {"msg_id": ""}})
        self._streams = [OutStream(name, self.recorder) for name in ("stdout", "stderr")]
        builtins.input = getpass.getpass = self._nobody_answers
        sys.breakpointhook = lambda *_, **__: None  # as where no debugger is connected

    def _exiter_default(self) -> ZMQExitAutocall:
        return ZMQExitAutocall(self)

    def init_history(self) -> None:
        self.config.HistoryManager.enabled = False  # nothing of one run is left for another
        super().init_history()

    def init_hooks(self) -> None:
        """Help goes to a pager, which is no part of a notebook."""
        super().init_hooks()
        self.set_hook("show_in_pager", page.as_hook(lambda *_, **__: None), 99)

    def init_traceback_handlers(self, custom_exceptions: Any) -> None:
        super().init_traceback_handlers(custom_exceptions)
        self.InteractiveTB = _Traceback(mode=self.xmode, theme_name=self.colors, tb_offset=1)

    def _format_exception_for_storage(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Nobody asks the history for errors, and to format one a second time takes as long as the first."""
        return {}

    def init_display_formatter(self) -> None:
        self.display_formatter = _Formatter(parent=self)
        self.configurables.append(self.display_formatter)

    @placeless
    def system(self, cmd: str) -> None:
        """`!cmd`, by pipes: there is no terminal here."""
        line = self.var_expand(cmd, depth=1)
        done = subprocess.run(line, check=False, shell=True, capture_output=True, text=True, errors="replace")
        self.recorder.write("stdout", done.stdout)
        self.recorder.write("stderr", done.stderr)
        self.user_ns["_exit_code"] = done.returncode

    def enable_gui(self, gui: str | None = None) -> None:
        """No window system's event loop is started."""

    def ask_exit(self) -> None:
        """A kernel would end after this cell; here the cells after it are graded."""

    def set_next_input(self, text: str, replace: bool = False) -> None:
        """There is no next input to fill in."""

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:
        try:
            text = str(evalue)
        except Exception:
            text = describe(evalue)["text"]
        self.recorder.error(etype.__name__, text, stb, self.InteractiveTB.left_out)
        self.InteractiveTB.left_out = 0

    @placeless
    def _nobody_answers(self, prompt: object = "", stream: object = None) -> str:
        """Answers ''; raises EOFError in a cell that goes on asking."""
        self._answers += 1
        if self._answers > ANSWERS:
            raise EOFError("nobody answers while a notebook is graded")
        self.recorder.write("stdout", f"{prompt}\n{NOBODY if self._answers == 1 else ''}")
        return ""

    def should_run_async(self, raw_cell: str, **about: Any) -> bool:
        """Whether a cell waits for something, looked at closely only where it might."""
        return _may_wait(raw_cell) and super().should_run_async(raw_cell, **about)

    def showtraceback(self, *arguments: Any, **options: Any) -> None:
        """Shows a traceback, unless nobody looks at it: to make one takes longer than most cells."""
        if self._shows_traceback:
            super().showtraceback(*arguments, **options)

    def run(self, source: str, rescue: bool = False, traceback: bool = True) -> dict[str, Any]:
        """Runs one cell; returns its outputs, and its error described or None.

        With `rescue`, what the cell defines after a line that failed is defined all the same. Without
        `traceback`, its error is not among the outputs.
        """
        self.recorder.start()
        self._answers, self._shows_traceback = 0, traceback
        sys.stdout, sys.stderr = self._streams  # whatever the last cell made of them
        try:
            result = self._execute(source)
            error = result.error_before_exec or result.error_in_exec
        except Exception as failure:  # the cell has broken the shell's own machinery
            error = failure
        if rescue and error is not None and not isinstance(error, SyntaxError):
            self._define_rest(source, error)
        return {"outputs": self.recorder.finish(), "error": describe(error) if error else None}

    def _execute(self, source: str) -> Any:
        """Runs a cell; from the first that may be asynchronous on, within one event loop, as in a kernel."""
        if self._loop is None and not _may_wait(source):  # most notebooks need none: it costs a socket pair
            return self.run_cell(source, store_history=True)
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(self._execute_in_loop(source))

    async def _execute_in_loop(self, source: str) -> Any:
        cell = self._transformed(source) if _may_wait(source) else None
        if cell and self.should_run_async(source, **cell):
            result = await self._execute_async(source, cell)
        else:
            result = self.run_cell(source, store_history=True)
        await asyncio.sleep(0)  # the tasks that it started begin
        return result

    async def _execute_async(self, source: str, cell: dict[str, Any]) -> Any:
        result = None
        try:
            result = await self.run_cell_async(source, store_history=True, **cell)
        finally:
            self.events.trigger("post_execute")
            self.events.trigger("post_run_cell", result)
        return result

    def _transformed(self, source: str) -> dict[str, Any]:
        try:
            return {"transformed_cell": self.transform_cell(source), "preprocessing_exc_tuple": None}
        except Exception:
            return {"transformed_cell": source, "preprocessing_exc_tuple": sys.exc_info()}

    def looked_up(self, source: str) -> set[str]:
        """The global names that the functions of a cell look up, whenever they are called."""
        try:
            tables = [symtable.symtable(self.transform_cell(source), "<cell>", "exec")]
        except (SyntaxError, ValueError, RecursionError):
            return set()
        found = set()
        for table in tables:  # which grows
            tables += table.get_children()
            if table.get_type() == "function":
                found |= {one.get_name() for one in table.get_symbols() if one.is_global()}
        return found

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


Shell.__name__ = "ZMQInteractiveShell"  # what notebooks ask for
