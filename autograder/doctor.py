"""What this machine has for grading: the software, and the layers of isolation.

A layer holds where a real child cannot get through it, whatever the versions of kernel and libraries say.
"""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from pathlib import Path
from shutil import which
from typing import Any

from .child.confine import LAYERS
from .child.near import Child, Lost

SECONDS = 30.0

# What a child tries for each layer; it raises where it gets through.
TRIALS = {
    "limits": """
import resource
assert resource.getrlimit(resource.RLIMIT_AS)[1] != resource.RLIM_INFINITY, "memory is not limited"
try: bytearray(1 << 40)
except MemoryError: pass
else: raise AssertionError("a terabyte was to be had")
""",
    "landlock": """
import os
try: os.listdir("/")
except PermissionError: pass
else: raise AssertionError("the system's folders can be listed")
try: open(SECRET)
except OSError: pass
else: raise AssertionError("a file outside can be read")
""",
    "seccomp": """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.socket(1, 1, 0) == -1, "a socket was to be had"
child = libc.fork()
if child == 0: libc._exit(0)
assert child == -1, "a process was started"
""",
    "namespaces": """
import os
assert not os.path.lexists(SECRET), "a file outside can be seen"
assert not os.path.lexists(f"/proc/{os.getppid()}"), "another process can be seen"
""",
    "folder": """
import os
assert os.statvfs(".").f_blocks * os.statvfs(".").f_frsize < 1 << 28, "the folder has no bound"
assert 0 < os.statvfs(".").f_files < 1 << 16, "the number of files has no bound"
""",
}

# Distributions, and what they are for.
PACKAGES = {
    "nbgrader": "the course's format and the gradebook",
    "jupyterlab": "the students' and the instructor's workplace",
    "ipykernel": "running notebooks",
    "numpy": "notebooks and grading",
    "matplotlib": "notebooks and grading",
}
OPTIONAL = {
    "psycopg": "a gradebook in PostgreSQL: install the package with its extra 'postgresql'",
    "distributed": "grading on a Dask cluster: install the package with its extra 'cluster'",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Layer:
    """One layer of isolation: whether it holds here, what for, and what to do or what went wrong."""

    name: str
    holds: bool
    purpose: str
    advice: str | None


@dataclass(frozen=True)
class Software:
    """Something installed or not; `needed` for grading, or for what its purpose says alone."""

    name: str
    version: str | None
    needed: bool
    purpose: str


@dataclass(frozen=True)
class Diagnosis:
    """All that is known of this machine."""

    system: str
    layers: tuple[Layer, ...]
    software: tuple[Software, ...]

    @property
    def confined(self) -> bool:
        """Whether every layer holds."""
        return all(layer.holds for layer in self.layers)

    @property
    def able(self) -> bool:
        """Whether other people's work may be graded here."""
        return self.confined and all(one.version for one in self.software if one.needed)

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {**asdict(self), "confined": self.confined, "able": self.able}

    def as_text(self) -> str:
        """The same for a person."""
        return "\n".join(_lines(self))


def diagnose() -> Diagnosis:
    """Tries everything."""
    python = Software("python", sys.version.split()[0], True, "all of this")
    installed = [_package(name, True, purpose) for name, purpose in PACKAGES.items()]
    optional = [_package(name, False, purpose) for name, purpose in OPTIONAL.items()]
    browser = next(filter(None, map(which, BROWSERS)), None)
    chromium = Software(
        "chromium", browser, False, "the course's tests in a browser: install it with your system"
    )
    return Diagnosis(sys.platform, layers(), (python, *installed, *optional, chromium))


def layers() -> tuple[Layer, ...]:
    """Each layer, held to be there when a child says so and what it forbids cannot be done in it."""
    with tempfile.NamedTemporaryFile() as secret:
        secret.write(b"not for the child")
        secret.flush()
        return tuple(_layer(name, Path(secret.name)) for name in LAYERS)


def _layer(name: str, secret: Path) -> Layer:
    purpose, advice = LAYERS[name]
    try:
        with Child({}) as child:
            holds = name in child.layers
            code = f"SECRET = {str(secret)!r}\n{TRIALS[name]}"
            error = child.ask(SECONDS, do="run", source=code)["error"] if holds else None
    except (Lost, OSError) as failure:
        return Layer(name, False, purpose, f"no child could be started to try it: {failure}")
    if error:
        return Layer(name, False, purpose, f"it does not do what it is for: {error['text']}")
    return Layer(name, holds, purpose, None if holds else advice)


def _package(name: str, needed: bool, purpose: str) -> Software:
    try:
        if name == "psycopg":  # installed, it may still lack PostgreSQL's own library
            import_module(name)
        return Software(name, metadata.version(name), needed, purpose)
    except ImportError:  # and the error for a distribution that is not there is one
        return Software(name, None, needed, purpose)


def _lines(found: Diagnosis) -> Iterator[str]:
    yield "Isolation of other people's code:"
    for layer in found.layers:
        yield f"  {'yes' if layer.holds else 'NO ':3}  {layer.name:<12}{layer.purpose}"
        if layer.advice:
            yield f"       {'':<12}-> {layer.advice}"
    yield "Software:"
    for one in found.software:
        have = one.version or ("MISSING" if one.needed else "not installed")
        yield f"       {one.name:<12}{have}" + ("" if one.version else f"  ({one.purpose})")
    yield ""
    if not found.system.startswith("linux"):
        yield "This system does not confine processes as Linux does: code graded here runs with your rights."
        yield "Check your own notebooks; grade others' on Linux, or at your own risk: --isolation none."
    elif not found.confined:
        yield "Other people's work is not graded here, unless --isolation none says that this is your wish."
    elif found.able:
        yield "Other people's work can be graded here."
    else:
        yield "What is missing has to be installed before anything is graded here."
