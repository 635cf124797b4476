"""What confines a child: the layers by name, and the smaller ones.

`landlock`, `syscalls` and `enclosure` hold the larger ones. Each function says whether its layer holds.
"""

import ctypes
import signal
import sys
from collections.abc import Collection
from typing import Any

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

# The layers, what each is for, and what to do where it is missing.
LAYERS: dict[str, tuple[str, str]] = {
    "limits": (
        "bounds memory, processor time, threads and the size of files",
        "grade on Linux or another system with setrlimit",
    ),
    "landlock": (
        "leaves the child no file but the Python installation and its own folder",
        "use Linux 5.13 or newer with Landlock enabled ('landlock' in the kernel's lsm= list); "
        "in a container, a runtime whose seccomp profile lets landlock_* through (Docker 20.10.10 or newer)",
    ),
    "seccomp": (
        "lets the child start no program, open no socket, and signal or trace nobody",
        "install libseccomp 2.4 or newer (Debian and Ubuntu: libseccomp2; Fedora: libseccomp)",
    ),
    "namespaces": (
        "hides every other process, the network, and all files that the child has no business with",
        "allow user namespaces (sysctl user.max_user_namespaces above 0, "
        "kernel.apparmor_restrict_unprivileged_userns=0), or grade as root; "
        "a container needs a runtime that allows them (Docker: --security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined)",
    ),
    "folder": (
        "bounds the bytes and the number of files that the child can write, in memory that ends with it",
        "as for namespaces: the folder is mounted in one",
    ),
}

MIB = 1 << 20
LIMITS = {  # of the resource module: a hard stop for each
    "RLIMIT_AS": 2048 * MIB,
    "RLIMIT_CORE": 0,
    "RLIMIT_CPU": 900,  # a backstop: the grader's clock ends a child long before
    "RLIMIT_FSIZE": 64 * MIB,
    "RLIMIT_MEMLOCK": 0,
    "RLIMIT_MSGQUEUE": 0,
    "RLIMIT_NOFILE": 256,
    "RLIMIT_STACK": 64 * MIB,
}
THREADS = 128

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
CAPABILITY_VERSION_3 = 0x20080522


def missing(layers: Collection[str]) -> dict[str, str]:
    """Which of the layers are not among those that hold, each with what to do about it."""
    return {name: advice for name, (_, advice) in LAYERS.items() if name not in layers}


def limit_resources(alone: bool) -> bool:
    """Bounds memory, time and files; threads as well where the child is counted `alone`.

    Without a user namespace of its own, a limit of threads counts all processes of its user. Returns
    whether all of them hold: a system may know a limit and yet not set it.
    """
    if resource is None:
        return False
    limits = {**LIMITS, **({"RLIMIT_NPROC": THREADS} if alone else {})}
    held = True
    for name, wanted in limits.items():
        kind = getattr(resource, name, None)
        if kind is None:  # MSGQUEUE and others are Linux' own
            continue
        _, hard = resource.getrlimit(kind)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):
            held = False
    return held


def end_with_parent() -> None:
    """Has the kernel kill this process when the one that started it ends."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def drop_privileges() -> None:
    """Gives up every capability, for good: what is left is an ordinary process, even as root."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    for capability in range(64):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    libc.capset(header, (ctypes.c_uint32 * 6)())


# What a notebook may not do is denied by seccomp; these say so in words, at the call that asks for it.
PROGRAMS = frozenset(
    ("os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.system", "subprocess.Popen", "pty.spawn")
)
NETWORK = frozenset(
    ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
)


def word_denials() -> None:
    """Has Python raise errors that a student understands where the kernel would deny it anyway."""
    family = _unix_family()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in PROGRAMS:
            raise PermissionError("a notebook may not start other programs while it is graded")
        if event in NETWORK or (event == "socket.__new__" and arguments[1] not in (family, -1)):
            raise PermissionError("a notebook has no network while it is graded")

    # Its line in a traceback is of no use to a student, nor is the place of this file.
    hook.__code__ = hook.__code__.replace(co_filename="<grading>")
    sys.addaudithook(hook)


def _unix_family() -> int:
    import socket  # noqa: PLC0415

    return int(getattr(socket, "AF_UNIX", -1))
