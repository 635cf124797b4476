"""Landlock: the files that are left to this process, by the kernel's own rules. See landlock(7)."""

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
RULE_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1, 2, 4, 8, 1 << 14
RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
NO_TCP, NO_SIGNAL_OR_ABSTRACT_SOCKET = 3, 3
# To make device files, sockets and pipes, and to use devices, is nobody's business here.
SPECIAL_FILES = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15
NO_NEW_PRIVS = 38


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


def ruleset(listable: Iterable[Path], readable: Iterable[Path], writable: Iterable[Path]) -> int | None:
    """A descriptor of rules that leave just these files; None where the kernel has no Landlock.

    Of what is below `listable` only the names can be seen. Where the kernel can, TCP, and signals and
    abstract sockets to the outside, go as well.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(CREATE_RULESET, None, 0, 1)
    if abi < 1:
        return None
    rights = RIGHTS_BY_ABI[max(version for version in RIGHTS_BY_ABI if version <= abi)]
    rules = _Ruleset(rights, NO_TCP if abi >= 4 else 0, NO_SIGNAL_OR_ABSTRACT_SOCKET if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    made: int = libc.syscall(CREATE_RULESET, ctypes.byref(rules), size, 0)
    if made < 0:
        return None
    for path in listable:
        _allow(libc, made, path, READ_DIR)
    for path in readable:
        _allow(libc, made, path, EXECUTE | READ_FILE | READ_DIR)
    for path in writable:
        _allow(libc, made, path, rights & ~SPECIAL_FILES)
    return made


def restrict(rules: int | None) -> bool:
    """Leaves this process the files of `rules`, for good, and closes them; returns whether that holds."""
    if rules is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    done: bool = libc.syscall(RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return done


def _allow(libc: ctypes.CDLL, made: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no rule
    if not path.is_dir():
        rights &= EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
    rule = _PathBeneath(rights, descriptor)
    libc.syscall(ADD_RULE, made, RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(descriptor)
