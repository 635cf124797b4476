"""An enclosure of namespaces: no other process, no network, and a file system of a few mounts, read-only.

The process that children are forked from enters it once; each child mounts a folder of its own in it, and
leaves the rights that this took behind. As an ordinary user it is a user namespace that grants them.
See namespaces(7), pivot_root(2) and mount_setattr(2).
"""

import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

HOME = Path("/home/student")  # where a child has its folder
FOLDER_SIZE, FOLDER_FILES = "96m", 4096
NOBODY = 65534

NEWNS, NEWUTS, NEWIPC, NEWUSER = 0x20000, 0x4000000, 0x8000000, 0x10000000
NEWPID, NEWNET = 0x20000000, 0x40000000
SPACES = NEWNS | NEWPID | NEWNET | NEWIPC | NEWUTS
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_SETATTR, AT_RECURSIVE, READ_ONLY, NO_SETUID = 442, 0x8000, 1, 2
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Enclosure:
    """What was entered: whether there are namespaces, folders can be mounted in them, and users changed."""

    namespaces: bool = False
    folders: bool = False
    users: bool = False  # root alone, outside of a user namespace, can become somebody else


class _Mounts:
    """mount(2) and its kin; each raises OSError."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)

    def _check(self, result: int, what: object) -> None:
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(what))

    def unshare(self, spaces: int) -> None:
        self._check(self._libc.unshare(spaces), "unshare")

    def mount(self, source: object, target: object, kind: str, flags: int, data: str = "") -> None:
        arguments = (os.fsencode(str(source)), os.fsencode(str(target)), kind.encode())
        self._check(self._libc.mount(*arguments, ctypes.c_ulong(flags), data.encode()), target)

    def pivot(self, root: Path) -> None:
        """Makes `root` all there is: the old root goes on top of it and off again."""
        os.chdir(root)
        self._check(self._libc.pivot_root(b".", b"."), root)
        self._check(self._libc.umount2(b".", MNT_DETACH), root)
        os.chdir("/")

    def make_read_only(self) -> None:
        """All mounts at once, which a kernel before 5.12 cannot."""
        attributes = (ctypes.c_uint64 * 4)(READ_ONLY | NO_SETUID, 0, 0, 0)
        done = self._libc.syscall(
            MOUNT_SETATTR, -100, b"/", AT_RECURSIVE, attributes, ctypes.sizeof(attributes)
        )
        self._check(done, "mount_setattr")


def enter(root: Path, shown: Iterable[Path], hidden: Iterable[Path]) -> Enclosure:
    """Moves into an enclosure in which just the paths `shown` exist, without those `hidden`; or into none.

    `root` is an empty folder to put the new root on. Forks: the caller goes on in the new process, the old
    one waits for it and ends as it ends. Whatever is forked in the enclosure ends with it.
    """
    if not sys.platform.startswith("linux"):
        return Enclosure()
    mounts = _Mounts()
    if (users := _unshare(mounts)) is None:
        return Enclosure()
    child = os.fork()
    if child:
        _wait_like(child)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        _furnish(mounts, root, list(shown), list(hidden))
    except OSError:
        return Enclosure(True, False, users)
    return Enclosure(True, True, users)


def _unshare(mounts: _Mounts) -> bool | None:
    """As root, the namespaces alone; else with a user namespace, in which this user is itself and alone.

    Returns whether there are other users, and None where no namespace is to be had.
    """
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        with suppress(OSError):
            mounts.unshare(SPACES)
            return True
    try:
        mounts.unshare(SPACES | NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return None
    return False


def _wait_like(child: int) -> None:
    """Waits for `child`, with nothing left open, and ends as it ends."""
    close_all_but()
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def close_all_but(*kept: int | None) -> None:
    """Closes every descriptor of this process, except those `kept`."""
    edges = sorted({-1, *(one for one in kept if one is not None), os.sysconf("SC_OPEN_MAX")})
    for low, high in pairwise(edges):
        if low + 1 < high:  # an empty range is taken for an endless one
            os.closerange(low + 1, high)


def _furnish(mounts: _Mounts, root: Path, shown: list[Path], hidden: list[Path]) -> None:
    mounts.mount("none", "/", "", MS_REC | MS_PRIVATE)
    mounts.mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=755")
    for path in sorted({path for one in shown for path in (one, one.resolve())}):
        _show(mounts, root, path)
    for path in hidden:
        if (place := _below(root, path)).is_dir():
            mounts.mount("tmpfs", place, "tmpfs", MS_NOSUID | MS_NODEV, "size=4k,mode=755")
    _below(root, HOME).mkdir(parents=True)
    _below(root, Path("/tmp")).mkdir(exist_ok=True)
    mounts.pivot(root)


def _below(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _show(mounts: _Mounts, root: Path, path: Path) -> None:
    """Has `path` in the new root: a link as a link, all else bound, unless it is there already."""
    place = _below(root, path)
    if not path.exists() or os.path.lexists(place):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and not path.parent.is_symlink() and path.is_dir():
        place.symlink_to(path.readlink())
        return
    if path.is_dir():
        place.mkdir()
    else:
        place.touch()
    mounts.mount(path, place, "", MS_BIND | MS_REC)


def seal() -> None:
    """Makes all of the enclosure read-only; raises OSError on a kernel that cannot (before 5.12)."""
    _Mounts().make_read_only()


def own_folder(owner: int | None) -> None:
    """Mounts an empty folder of this process alone on HOME, bounded in bytes and files, for the user `owner`.

    Raises OSError where it cannot be had.
    """
    mounts = _Mounts()
    mounts.unshare(NEWNS)
    size = f"size={FOLDER_SIZE},nr_inodes={FOLDER_FILES},mode=755"
    whose = "" if owner is None else f",uid={owner},gid={owner}"
    mounts.mount("tmpfs", HOME, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, size + whose)


def become(user: int | None) -> bool:
    """Leaves root for `user`, who owns nothing else; returns whether his processes are counted alone here."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    try:
        _Mounts().unshare(NEWUSER)
    except OSError:
        return False
    return True
