"""The far end: reads one request a line, answers one line, until its input ends.

Requests and replies are JSON objects that carry the same `id`:

    {"do": "run", "source": ..., "rescue": bool}      -> {"outputs": [...], "error": {...} | null}
    {"do": "observe", "name": ..., "cases": [...]}    -> {"observations": [...]}
    {"do": "put", "source": ...}                      -> {}     runs code of the course, silently
    {"do": "mark"}                                    -> {}     remembers what every name means
    {"do": "settle", "names": [...]}                  -> {}     and puts back all but those names
"""

import builtins
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from ..observe.run import observations
from . import confine


def main(listable: list[str], readable: list[str], private: str) -> None:
    """Serves requests in the folder `private`; reads below `readable`, writes below `private`."""
    requests, replies = _take_over_standard_streams()
    layers = [*confine.limit_resources(), *confine.enter_namespaces()]
    os.chdir(private)
    folders = (list(map(Path, paths)) for paths in (listable, readable, [private, os.devnull]))
    layers += confine.landlock(*folders)
    _reply(replies, {"layers": layers})

    from .shell import Shell  # noqa: PLC0415  (IPython is loaded when the process is confined)

    shell = Shell.instance(colors="nocolor", xmode="Context")
    if "matplotlib.pyplot" in sys.modules:  # loaded before there was a shell to show its figures
        shell.enable_matplotlib("inline")
    sys.path.insert(0, private)
    far = _Far(shell)
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
        self._names: dict[str, Any] = {}
        self._builtins: dict[str, Any] = {}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        done: dict[str, Any] = self._shell.run(request["source"], request["rescue"])
        return done

    def observe(self, request: dict[str, Any]) -> dict[str, Any]:
        module, name = request["name"].split(".")
        observer = getattr(import_module(f"autograder.observe.{module}"), name)
        return {"observations": observations(observer, self._shell.user_ns, request["cases"])}

    def put(self, request: dict[str, Any]) -> dict[str, Any]:
        exec(compile(request["source"], "<course>", "exec"), self._shell.user_ns)
        return {}

    def mark(self, request: dict[str, Any]) -> dict[str, Any]:
        self._names, self._builtins = dict(self._shell.user_ns), dict(vars(builtins))
        return {}

    def settle(self, request: dict[str, Any]) -> dict[str, Any]:
        """An answer keeps its own names; what else it bound anew means again what it meant."""
        names = self._shell.user_ns
        vars(builtins).update(self._builtins)
        for name in set(names) - set(request["names"]):
            if name in self._names:
                names[name] = self._names[name]
            elif name in self._builtins:
                del names[name]
        return {}
