"""A process that has got ready what every notebook needs and forks a child for each request.

It holds nothing of the course. A request is a JSON object, with two descriptors beside it where the child
reads its requests and where it replies: the child's private folder, or none where it is in memory. Or it is
a child's id to `end`. The answer is the child's id, or the signal that ended it, 0 for none. It ends when its
control socket does, and with it all that it has forked.
"""

import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import Any

import numpy as np

from . import enclosure, far

REQUEST_LIMIT = 100_000


def main(place: dict[str, Any], control: int) -> None:
    """Serves requests from the socket `control` until it closes."""
    processes = os.open("/proc", os.O_DIRECTORY)  # it cannot be opened any more from where we go
    ground = far.Ground(far.Place(**place))
    assert _threads(processes) == 1, "a process with threads cannot be forked safely"
    os.close(processes)
    gc.collect()
    gc.freeze()  # else a child's first collection would copy all of this
    with socket.socket(fileno=control) as requests:
        requests.sendall(json.dumps({"folders": ground.folders}).encode())
        while True:
            data, descriptors, _, _ = socket.recv_fds(requests, REQUEST_LIMIT, 2)
            if not data:
                return
            request = json.loads(data)
            if "end" in request:
                answer = _end(request["end"])
            elif (answer := os.fork()) == 0:
                requests.close()
                _become_child(ground, request, *descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            requests.sendall(f"{answer}\n".encode())


def _threads(processes: int) -> int:
    """How many threads this process has, libraries' own among them."""
    tasks = os.open("self/task", os.O_DIRECTORY, dir_fd=processes)
    try:
        return len(os.listdir(tasks))
    finally:
        os.close(tasks)


def _end(child: int) -> int:
    """Kills a child and all that it may have started, and waits until it is gone; says of which signal."""
    for kill in (os.killpg, os.kill):  # just forked, it leads no group yet
        with suppress(ProcessLookupError):
            kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _become_child(ground: far.Ground, request: dict[str, Any], reads: int, writes: int) -> None:
    try:
        os.setsid()
        os.dup2(reads, 0)
        os.dup2(writes, 1)
        enclosure.close_all_but(0, 1, 2, ground.rules)
        np.random.seed(int.from_bytes(os.urandom(4)))  # `random` sees to itself
        far.become(ground, request["private"])
    finally:
        sys.stdout = sys.stderr = None
        os._exit(0)
