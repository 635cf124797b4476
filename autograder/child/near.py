"""The near end: starts a child, asks it, bounds what comes back, ends it for good."""

import json
import os
import queue
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..observe import run as observe_run

REPLY_LIMIT = 8_000_000  # bytes of one reply, a figure or two
DEPTH_LIMIT = 40
START_SECONDS = 60.0

PACKAGE = Path(__file__).parents[1]
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
BOOTSTRAP = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); "
    "from autograder.child.far import main; main(*json.loads(sys.argv[2]))"
)


class Lost(Exception):
    """The child died, fell silent past its time, or sent what is no reply; it is gone."""


class Child:
    """A process that runs student cells and observers and knows nothing of the answers.

    `observers` is the module of `autograder.observe` that it may import, `files` what lies beside
    the notebook. Use it as a context manager: at its end the process and its folders are gone.
    """

    def __init__(self, observers: str, files: Mapping[str, bytes]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="autograder-"))
        library, private = self._folder / "library", self._folder / "private"
        _lay_library(library, observers)
        private.mkdir()
        for name, data in files.items():
            (private / name).write_bytes(data)
        installed = {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}
        hidden = {PACKAGE, *(folder / "nbgrader" for folder in installed)}
        roots = {*map(Path, SYSTEM), Path(sys.base_prefix), Path(sys.prefix)}
        readable = [library, *(path for root in roots for path in _without(root, hidden))]
        folders = [[*map(str, installed)], [*map(str, readable)], str(private)]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", BOOTSTRAP, str(library), json.dumps(folders)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(private),
            cwd=private,
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        self.layers: tuple[str, ...] = tuple(self._receive(START_SECONDS)["layers"])

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, seconds: float, **request: Any) -> dict[str, Any]:
        """The reply to one request; raises Lost, and ends the child, where none comes in time."""
        token = secrets.token_hex(8)
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({**request, "id": token}).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self._lose("it ended the process it ran in")
        reply = self._receive(seconds)
        if reply.get("id") != token:
            self._lose("it meddled with the grading")
        return reply

    def close(self) -> None:
        """Ends the process and all it started, and removes its folders."""
        if os.name == "posix":
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := self._process.stdout.readline(REPLY_LIMIT):
                self._lines.put(line)
        except (OSError, ValueError):
            pass
        self._lines.put(b"")

    def _receive(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self._lose(f"it did not finish within {seconds:g} seconds")
        if not line:
            self._lose("it ended the process it ran in")
        if not line.endswith(b"\n"):
            self._lose("it sent back more than any answer needs")
        try:
            reply = json.loads(line, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            self._lose("it meddled with the grading")
        if not isinstance(reply, dict) or _depth(reply) > DEPTH_LIMIT:
            self._lose("it meddled with the grading")
        return reply  # type: ignore[no-any-return]

    def _lose(self, why: str) -> None:
        self.close()
        raise Lost(why)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _depth(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, children), default=0)


def _lay_library(library: Path, observers: str) -> None:
    """The part of the package that the child may import: its own room and one notebook's observers."""
    package = library / "autograder"
    ours = shutil.ignore_patterns("__pycache__", "near.py")
    shutil.copytree(PACKAGE / "child", package / "child", ignore=ours)
    observe = package / "observe"
    observe.mkdir()
    for file in ("__init__.py", "plain.py", Path(observe_run.__file__).name, f"{observers}.py"):
        shutil.copyfile(PACKAGE / "observe" / file, observe / file)
    (package / "__init__.py").touch()


def _without(root: Path, hidden: Iterable[Path]) -> list[Path]:
    """`root`, or those of the paths below it that hold nothing `hidden`."""
    if root in hidden:
        return []
    if not any(root in path.parents for path in hidden):
        return [root]
    return [path for child in root.iterdir() for path in _without(child, hidden)]


def _environment(private: Path) -> dict[str, str]:
    """What the child's processes are told: nothing of the grader's own environment."""
    kept = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    given = {name: os.environ[name] for name in kept if name in os.environ}
    here = str(private)
    return {
        **given,
        **dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR", "MPLCONFIGDIR"), here),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        "PYTHONHASHSEED": "0",
    }
