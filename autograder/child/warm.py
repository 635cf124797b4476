"""A process that has imported what every notebook needs and forks a child for each request.

It holds nothing of the course. A request is a JSON object: the arguments of far.main and the new
environment, with two descriptors beside it, where the child reads its requests and where it replies;
or a child's id to `reap`, once it has been killed. The answer is the child's id.
"""

import json
import os
import socket
import sys
from importlib import import_module
from typing import Any

import numpy as np

from . import far

# What notebooks import anyway: shared by all children, it costs each of them nothing.
IMPORTED = (
    "autograder.child.shell",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "matplotlib.pyplot",
    "matplotlib_inline.backend_inline",
)

REQUEST_LIMIT = 1_000_000


def main(observers: str, control: int) -> None:
    """Serves requests from the socket `control` until it closes.

    `observers` is loaded here as well, so that no child can change it for the next.
    """
    for name in (*IMPORTED, f"autograder.observe.{observers}"):
        import_module(name)
    with socket.socket(fileno=control) as requests:
        while True:
            data, descriptors, _, _ = socket.recv_fds(requests, REQUEST_LIMIT, 2)
            if not data:
                return
            request = json.loads(data)
            if "reap" in request:
                child, _ = os.waitpid(request["reap"], 0)
            else:
                child = os.fork()
            if child == 0:
                requests.close()
                _become_child(request, *descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            requests.sendall(f"{child}\n".encode())


def _become_child(request: dict[str, Any], reads: int, writes: int) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    np.random.seed()  # the standard library's generator sees to itself
    os.dup2(reads, 0)
    os.dup2(writes, 1)
    os.close(reads)
    os.close(writes)
    try:
        far.main(*request["folders"])
    finally:
        sys.stdout = sys.stderr = None
        os._exit(0)
