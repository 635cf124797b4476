"""Starts children: forked from a warm process on Linux, spawned elsewhere."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

FORKS = sys.platform.startswith("linux")  # elsewhere a process with threads of the system's is not forked

PACKAGE = Path(__file__).parents[1]
OURS = ("near.py", "start.py", "__pycache__")  # of this room, not for the child
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
SPAWN = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); "
    "from autograder.child.far import main; main(*json.loads(sys.argv[2]))"
)
WARM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from autograder.child.warm import main; main(sys.argv[2], int(sys.argv[3]))"
)


Library = tempfile.TemporaryDirectory[str]


@dataclass
class Process:
    """A started child: its pipes, and how it is ended for good."""

    pid: int
    requests: IO[bytes]
    replies: IO[bytes]
    parent: "subprocess.Popen[bytes] | _Warm"
    library: Library | None = None  # one of its own, to be removed with it
    _ended: bool = field(default=False)

    def end(self) -> None:
        """Kills the process and its group, and waits until it is gone; the second time does nothing."""
        if self._ended:
            return
        self._ended = True
        if isinstance(self.parent, _Warm):
            _kill_group(self.pid)  # a zombie keeps its id until its parent reaps it, so this is no other's
            self.parent.reap(self.pid)
        else:
            _kill_group(self.pid) if os.name == "posix" else self.parent.kill()
            self.parent.wait()
        for pipe in (self.requests, self.replies):
            with suppress(OSError):
                pipe.close()
        if self.library is not None:
            self.library.cleanup()


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def start(observers: str, private: Path) -> Process:
    """A child that imports `observers` of autograder.observe and writes below `private` alone."""
    return _warm(observers).fork(private) if FORKS else _spawn(observers, private)


def _spawn(observers: str, private: Path) -> Process:
    library = _library(observers)
    folders = json.dumps(_folders(library, private))
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", SPAWN, library.name, folders],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(private),
        cwd=private,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    return Process(process.pid, process.stdin, process.stdout, process, library)


@cache
def _warm(observers: str) -> "_Warm":
    return _Warm(observers)


class _Warm:
    """The near end of a warm process, which lives as long as this one."""

    def __init__(self, observers: str) -> None:
        self._library = _library(observers)
        self._lock = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", WARM, self._library.name, observers, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(Path(self._library.name)),
                cwd=self._library.name,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def fork(self, private: Path) -> Process:
        """A new child of the warm process."""
        reads, requests = os.pipe()
        replies, writes = os.pipe()
        start = {"folders": _folders(self._library, private), "environment": _environment(private)}
        try:
            pid = self._ask(start, [reads, writes])
        finally:
            os.close(reads)
            os.close(writes)
        return Process(pid, os.fdopen(requests, "wb"), os.fdopen(replies, "rb"), self)

    def reap(self, pid: int) -> None:
        """Has the warm process take note of its child's end, which frees the id."""
        self._ask({"reap": pid}, [])

    def _ask(self, request: Mapping[str, object], descriptors: list[int]) -> int:
        with self._lock:
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
            return int(self._control.recv(64))


def _library(observers: str) -> Library:
    """A folder with the part of the package that a child may import."""
    folder = Library(prefix="autograder-library-")
    package = Path(folder.name) / "autograder"
    shutil.copytree(PACKAGE / "child", package / "child", ignore=shutil.ignore_patterns(*OURS))
    (package / "observe").mkdir()
    for name in ("__init__", "plain", "run", observers):
        shutil.copyfile(PACKAGE / "observe" / f"{name}.py", package / "observe" / f"{name}.py")
    (package / "__init__.py").touch()
    return folder


def _folders(library: Library, private: Path) -> list[object]:
    """What far.main is told: folders whose names may be listed, that may be read, that may be written."""
    installed = [str(path) for path in _installed()]
    return [installed, [library.name, *map(str, _readable())], str(private)]


def _installed() -> set[Path]:
    return {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}


@cache
def _readable() -> tuple[Path, ...]:
    """The Python installation and what it needs of the system, without this package and nbgrader."""
    hidden = {PACKAGE, *(folder / "nbgrader" for folder in _installed())}
    roots = {*map(Path, SYSTEM), Path(sys.base_prefix), Path(sys.prefix)}
    return tuple(path for root in sorted(roots) for path in _without(root, hidden))


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
