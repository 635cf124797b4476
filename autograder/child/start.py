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
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

FORKS = sys.platform.startswith("linux")  # elsewhere a process with threads of the system's is not forked

Library = tempfile.TemporaryDirectory[str]

PACKAGE = Path(__file__).parents[1]
OURS = ("near.py", "start.py", "__pycache__")  # of this room, not for the child
SYSTEM = (
    *("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/localtime", "/etc/fonts"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
RUN = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); "
    "from autograder.child.{module} import main; main(*json.loads(sys.argv[2]))"
)


class NoStart(OSError):
    """The process that children are forked from does not start, or does not stay."""


@dataclass
class Process:
    """A started child: its pipes, and how it is ended for good."""

    requests: IO[bytes]
    replies: IO[bytes]
    kill: Callable[[bool], bool]
    _ended: bool = field(default=False)

    def end(self, wait: bool = True) -> bool:
        """Kills the process and waits until it is gone; the second time does nothing.

        Without `wait` it is gone before the next one starts. Returns whether it is known to have been killed,
        by us or by others: it cannot do that itself.
        """
        if self._ended:
            return False
        self._ended = True
        killed = self.kill(wait)
        with suppress(OSError):
            self.requests.close()  # the replies are closed by who reads them, to their end
        return killed


def start() -> Process:
    """A new child, which waits for its files.

    Raises NoStart where none can be had.
    """
    return _fork() if FORKS else _spawn()


def _spawn() -> Process:
    library, private = _library(), Path(tempfile.mkdtemp(prefix="autograder-"))
    process = _run("far", library, str(private), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None

    def kill(_: bool) -> bool:
        if os.name == "posix":
            with suppress(ProcessLookupError):  # a zombie keeps its id until it is waited for
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        library.cleanup()
        _remove(private)
        return False  # by whom cannot be told here

    return Process(process.stdin, process.stdout, kill)


def _run(module: str, library: Library, more: object, **streams: Any) -> "subprocess.Popen[bytes]":
    """Starts a module of the library, told where it is and one thing `more`."""
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-c",
            RUN.format(module=module),
            library.name,
            json.dumps([_place(library), more]),
        ],
        stderr=subprocess.DEVNULL,
        env=_environment(library.name),
        cwd=library.name,
        start_new_session=True,
        **streams,
    )


def _fork() -> Process:
    """From the warm process; from a new one, where the last has been killed."""
    try:
        return _warm(os.getpid()).fork()
    except NoStart:
        _warm.cache_clear()
        return _warm(os.getpid()).fork()


@cache
def _warm(owner: int) -> "_Warm":
    """The warm process of the process `owner`: one that was forked from that does not share it."""
    return _Warm()


class _Warm:
    """The near end of a warm process, which lives as long as this one."""

    def __init__(self) -> None:
        self._lock, self._owed = threading.Lock(), False  # is there an answer that nobody waited for?
        self._control, theirs = socket.socketpair()
        library = _library()
        with library, theirs:  # what it needs of the library is loaded when it answers
            descriptor = theirs.fileno()
            self._process = _run(
                "warm",
                library,
                descriptor,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[descriptor],
            )
            theirs.close()
            self._on_disk = not json.loads(self._receive())["folders"]

    def fork(self) -> Process:
        """A new child of the warm process."""
        private = Path(tempfile.mkdtemp(prefix="autograder-")) if self._on_disk else None
        try:
            child, requests, replies = self._child(private)
        except NoStart:
            _remove(private)
            raise

        def kill(wait: bool) -> bool:
            try:
                killed = self._ask({"end": child}, wait=wait or self._on_disk) == signal.SIGKILL
            except NoStart:  # the warm process has been killed, and its children with it
                killed = True
            _remove(private)
            return killed

        return Process(requests, replies, kill)

    def _child(self, private: Path | None) -> tuple[int | None, IO[bytes], IO[bytes]]:
        """A new child's id, and our ends of its pipes."""
        reads, requests = os.pipe()
        replies, writes = os.pipe()
        ours = os.fdopen(requests, "wb"), os.fdopen(replies, "rb")
        try:
            return self._ask({"private": private and str(private)}, reads, writes), *ours
        finally:
            os.close(reads)
            os.close(writes)

    def _ask(self, request: Mapping[str, object], *descriptors: int, wait: bool = True) -> int | None:
        """The answer to a request; without `wait` it is left for the next request to receive."""
        with self._lock:
            if self._owed:
                self._owed = False
                self._receive()
            try:
                socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
            except OSError:
                raise NoStart("the process that children are forked from is gone") from None
            self._owed = not wait
            return int(self._receive()) if wait else None

    def _receive(self) -> bytes:
        try:
            data = self._control.recv(100)
        except OSError:
            data = b""
        if not data:
            self._process.wait()
            raise NoStart("the process that children are forked from is gone")
        return data


def _remove(private: Path | None) -> None:
    """Removes a child's folder, once the child is gone; links in it are removed, not followed."""
    if private is not None:
        shutil.rmtree(private, ignore_errors=True)


def _library() -> Library:
    """A folder with the part of the package that a child may import."""
    folder = Library(prefix="autograder-library-")
    package = Path(folder.name) / "autograder"
    for room in ("child", "observe"):
        shutil.copytree(PACKAGE / room, package / room, ignore=shutil.ignore_patterns(*OURS))
    (package / "__init__.py").touch()
    (Path(folder.name) / "root").mkdir()
    return folder


def _place(library: Library) -> dict[str, object]:
    """What far.Place is made of."""
    return {
        "library": library.name,
        "listable": [str(path) for path in _installed()],
        "readable": [str(path) for path in _readable()],
        "shown": [str(path) for path in _roots()],
        "hidden": [str(path) for path in _hidden()],
    }


def _installed() -> set[Path]:
    return {Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}


def _hidden() -> set[Path]:
    """What lies among the installed packages and tells about the answers."""
    return {PACKAGE, *(folder / "nbgrader" for folder in _installed())}


def _roots() -> set[Path]:
    """The Python installation and what it needs of the system."""
    return {*map(Path, (*SYSTEM, *DEVICES)), Path(sys.base_prefix), Path(sys.prefix)}


@cache
def _readable() -> tuple[Path, ...]:
    """The Python installation and what it needs of the system, without this package and nbgrader."""
    return tuple(path for root in sorted(_roots()) for path in _without(root, _hidden()))


def _without(root: Path, hidden: Iterable[Path]) -> list[Path]:
    """`root`, or those of the paths below it that hold nothing `hidden`."""
    if root in hidden:
        return []
    if not any(root in path.parents for path in hidden):
        return [root]
    return [path for child in root.iterdir() for path in _without(child, hidden)]


def _environment(home: str) -> dict[str, str]:
    """What the child's processes are told: nothing of the grader's own environment."""
    kept = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    given = {name: os.environ[name] for name in kept if name in os.environ}
    return {
        **given,
        **dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR", "MPLCONFIGDIR"), home),
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
        "PYTHONHASHSEED": "0",
    }
