"""The far end: reads one request a line, answers one line, until its input ends.

Requests and replies are JSON objects that carry the same `id`:

    {"do": "run", "source": ...}      -> {"outputs": [...], "error": {...} | null}
    {"do": "answer", "to": ..., "source": ...}  -> the same; what it defines below an error counts, too
    {"do": "test", "source": ...}     -> the same; nobody looks at its traceback
    {"do": "observe", "to": ..., "name": ..., "cases": [...], "names": [...]}  -> {"observations": [...]}
    {"do": "settle", "to": ..., "names": [...]}  -> {}  ends an answer, as `observe` does in the end
    {"do": "put", "source": ..., "instead": ...}  -> {}  runs code of the course, instead of an answer perhaps

Before the first, the files that lie beside the notebook come in, and whether figures are drawn or only
named; the names of the layers go out.
"""

import base64
import builtins
import json
import os
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from ..observe.run import observations
from . import confine, enclosure, landlock, syscalls

# What notebooks import anyway: shared by all children, it costs each of them nothing.
IMPORTED = (
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
    "numpy.random",
)


@dataclass(frozen=True)
class Place:
    """Where children run, as the near end has found it: paths, as texts.

    Of `listable` only the names may be seen, `readable` may be read and `shown` exist at all, without
    `hidden`; `library` holds this package's part, and an empty folder `root`.
    """

    library: str
    listable: list[str]
    readable: list[str]
    shown: list[str]
    hidden: list[str]


class Ground:
    """What children are forked from: all that can be got ready before there is a notebook."""

    def __init__(self, place: Place) -> None:
        """Enters the enclosure, in a new process, and loads what every notebook needs."""
        signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a kernel; a pool's workers ignore it
        self._place, self._library = place, Path(place.library)
        shown = [*map(Path, place.shown), self._library / "autograder"]
        self._enclosure = enclosure.enter(self._library / "root", shown, list(map(Path, place.hidden)))
        self.folders = self._enclosure.folders  # are children's folders in memory, or else on the disk?
        if self.folders:
            _settle_in(enclosure.HOME)
        self.shell = _shell()
        for module in sorted((self._library / "autograder" / "observe").glob("[a-z]*.py")):
            import_module(f"autograder.observe.{module.stem}")
        self._filter = syscalls.program()
        # One set of rules for all: it names the folder above the one that each child mounts.
        self.rules = self._rules_for(enclosure.HOME.parent) if self.folders else None
        if self.folders:
            with suppress(OSError):  # an old kernel: Landlock still keeps children from writing
                enclosure.seal()

    def confine(self, private: str | None, files: dict[str, bytes]) -> list[str]:
        """Puts this process, a child, into its folder with its files, behind every wall there is.

        Returns the layers that hold. The folder is `private` where it cannot be in memory.
        """
        home = Path(private or enclosure.HOME)
        user = enclosure.NOBODY if self.folders and self._enclosure.users else None
        if self.folders:
            home = enclosure.HOME
            enclosure.own_folder(user)
        alone = self._enclosure.namespaces and enclosure.become(user)
        _settle_in(home)
        for name, data in files.items():
            path = home / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        layers = {"namespaces": self._enclosure.namespaces, "folder": self.folders}
        layers["limits"] = confine.limit_resources(alone)
        if sys.platform.startswith("linux"):
            confine.drop_privileges()
            confine.end_with_parent()  # after the last change of rights, at which the kernel forgets it
            rules = self.rules if self.folders else self._rules_for(home)
            layers["landlock"] = landlock.restrict(rules)
            layers["seccomp"] = syscalls.put_up(self._filter)
        if layers.get("seccomp"):
            confine.word_denials()
        return [name for name in confine.LAYERS if layers.get(name)]

    def _rules_for(self, writable: Path) -> int | None:
        readable = [*map(Path, self._place.readable), self._library / "autograder"]
        return landlock.ruleset(map(Path, self._place.listable), readable, [writable, Path(os.devnull)])


def _settle_in(home: Path) -> None:
    """Makes `home` the working folder, and where programs write their own files."""
    os.chdir(home)
    os.environ.update(
        dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP", "IPYTHONDIR", "MPLCONFIGDIR"), str(home))
    )
    tempfile.tempdir = None  # it is looked for again


def _shell() -> Any:
    from .shell import Shell  # noqa: PLC0415  (IPython is loaded in the enclosure)

    for name in IMPORTED:
        import_module(name)
    shell = Shell.instance(colors="nocolor", xmode="Context")
    shell.enable_matplotlib("inline")
    for cell in ("0", "1 / 0"):  # what else the first cell of each child would wait for, and the first error
        shell.run(cell)
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):  # the last since Python 3.12
        vars(sys).pop(name, None)
    shell.reset()
    return shell


def main(place: dict[str, list[str]], private: str) -> None:
    """A child that is not forked: gets ready by itself, and serves."""
    requests, replies = _take_over_standard_streams()
    serve(Ground(Place(**place)), private, requests, replies)  # type: ignore[arg-type]


def become(ground: Ground, private: str | None) -> None:
    """Makes a forked process a child."""
    serve(ground, private, *_take_over_standard_streams())


def serve(ground: Ground, private: str | None, requests: BinaryIO, replies: BinaryIO) -> None:
    """Confines this process and serves requests until they end."""
    given = json.loads(requests.readline())
    files = {name: base64.b64decode(data) for name, data in given["files"].items()}
    ground.shell.figures = given["figures"]
    layers = ground.confine(private, files)
    _reply(replies, {"layers": layers})
    sys.path.insert(0, os.getcwd())
    far = _Far(ground.shell)
    for line in requests:
        request = json.loads(line)
        reply = getattr(far, request["do"])(request)
        _reply(replies, {**reply, "id": request["id"]})


def _take_over_standard_streams() -> tuple[BinaryIO, BinaryIO]:
    """The pipes to the parent, moved away from where prints and input() go."""
    requests, replies = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return os.fdopen(requests, "rb"), os.fdopen(replies, "wb")


def _reply(replies: BinaryIO, reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply).encode() + b"\n")
    replies.flush()


class _Far:
    """What the requests do."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._exercise = ""  # that the last answer was to
        self._looked_up: set[str] = set()
        self._names: dict[str, Any] = {}  # what names meant before it
        self._modules: dict[ModuleType, dict[str, Any]] = {}  # and those of builtins and other modules

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        done: dict[str, Any] = self._shell.run(request["source"])
        return done

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Runs an answer, after it has noted what every name means."""
        self._exercise, self._looked_up = request["to"], self._shell.looked_up(request["source"])
        self._names = dict(self._shell.user_ns)
        modules = [builtins, *(one for one in self._names.values() if type(one) is ModuleType)]
        self._modules = {one: dict(vars(one)) for one in modules}
        done: dict[str, Any] = self._shell.run(request["source"], rescue=True)
        return done

    def test(self, request: dict[str, Any]) -> dict[str, Any]:
        done: dict[str, Any] = self._shell.run(request["source"], traceback=False)
        return done

    def observe(self, request: dict[str, Any]) -> dict[str, Any]:
        module, name = request["name"].split(".")
        observer = getattr(import_module(f"autograder.observe.{module}"), name)
        seen = [*observations(observer, self._shell.user_ns, request["cases"])]
        return {"observations": seen, **self.settle(request)}

    def settle(self, request: dict[str, Any]) -> dict[str, Any]:
        """An answer keeps its names, and those that its functions look up when they are called."""
        return self._put_back(request["to"], {*request["names"], *self._looked_up})

    def put(self, request: dict[str, Any]) -> dict[str, Any]:
        """In the place of an answer, of which nothing is kept."""
        self._put_back(request.get("instead"), set())
        exec(compile(request["source"], "<course>", "exec"), self._shell.user_ns)
        return {}

    def _put_back(self, exercise: str | None, kept: set[str]) -> dict[str, Any]:
        """What else an answer bound anew means again what it meant.

        Not where the last answer was to another exercise: a replay may have left out this one's.
        """
        if exercise == self._exercise:
            names = self._shell.user_ns
            for module, before in self._modules.items():
                vars(module).update(before)
            for name in {*names, *self._names} - kept:
                if name in self._names:
                    names[name] = self._names[name]
                elif name in self._modules[builtins]:
                    del names[name]
        return {}
