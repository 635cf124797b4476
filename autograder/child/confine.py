"""Takes from this process what grading a notebook does not need, as far as the system lets it."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

GIB = 1 << 30
LIMITS = {  # of the resource module, with a hard stop for each
    "RLIMIT_AS": 4 * GIB,
    "RLIMIT_CORE": 0,
    "RLIMIT_FSIZE": 64 << 20,
    "RLIMIT_NOFILE": 256,
    "RLIMIT_STACK": 64 << 20,
}

# From Linux' unshare(2), prctl(2) and landlock(7).
CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUSER = 0x20000000, 0x40000000, 0x08000000, 0x10000000
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
NET_BIND_CONNECT, SCOPE_SOCKET_SIGNAL = 3, 3


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


def limit_resources() -> list[str]:
    """Bounds memory, files and core dumps; returns the layer's name where the system has it."""
    if resource is None:
        return []
    for name, wanted in LIMITS.items():
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(kind, (most, most))
    return ["limits"]


def enter_namespaces() -> list[str]:
    """Moves into process, network and IPC namespaces of its own; returns the layer's name or [].

    Forks: the caller goes on in the new process, the old one waits for it and ends as it ends.
    Whatever the new process starts dies with it.
    """
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    spaces = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC
    if libc.unshare(spaces) != 0 and libc.unshare(spaces | CLONE_NEWUSER) != 0:
        return []
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    return ["namespaces"]


def landlock(listable: Iterable[Path], readable: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Leaves no file but those below `readable` and `writable`; returns the layer's name or [].

    Of what is below `listable` only the names can be seen. Where the kernel can, TCP, and signals and
    abstract sockets to the outside, go as well.
    """
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(CREATE_RULESET, None, 0, 1)
    if abi < 1:
        return []
    rights = RIGHTS_BY_ABI[max(version for version in RIGHTS_BY_ABI if version <= abi)]
    rules = _Ruleset(rights, NET_BIND_CONNECT if abi >= 4 else 0, SCOPE_SOCKET_SIGNAL if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return []
    for path in listable:
        _allow(libc, ruleset, path, READ_DIR)
    for path in readable:
        _allow(libc, ruleset, path, EXECUTE | READ_FILE | READ_DIR)
    for path in writable:
        _allow(libc, ruleset, path, rights)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    done = libc.syscall(RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return ["landlock"] if done else []


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    if not path.is_dir():
        rights &= EXECUTE | WRITE_FILE | READ_FILE
    rule = _PathBeneath(rights, descriptor)
    libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(descriptor)
