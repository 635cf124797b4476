"""Tasks carried to workers: every one comes back, whatever happens to who has it."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from autograder import workers
from autograder.workers import Died, carry, pool


def ready():
    return None


def double(number):
    return 2 * number


def moody(number):
    """Kills the process that it is called in, or raises, or doubles."""
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 5:
        raise ValueError("five")
    return 2 * number


def fragile(task):
    """Kills its process the first time that it is called with this folder."""
    number, folder = task
    first = Path(folder) / str(number)
    if number == 3 and not first.exists():
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_everything_comes_back():
    assert sorted(carry(pool(2, ready), double, range(30))) == [(n, 2 * n) for n in range(30)]


def test_a_task_that_kills_its_worker_costs_no_other():
    found = dict(carry(pool(2, ready), moody, range(12)))
    assert isinstance(found.pop(7), Died)
    error = found.pop(5)
    assert isinstance(error, ValueError)
    assert found == {n: 2 * n for n in range(12) if n not in (5, 7)}


def test_a_worker_that_dies_once_costs_nothing(tmp_path):
    tasks = [(number, str(tmp_path)) for number in range(10)]
    assert sorted(carry(pool(2, ready), fragile, tasks)) == [(task, 2 * task[0]) for task in tasks]


def test_tasks_are_taken_as_they_are_needed():
    taken = []

    def tasks():
        for number in itertools.count():
            taken.append(number)
            yield number

    coming = carry(pool(2, ready), double, tasks())
    for done, _ in enumerate(itertools.islice(coming, 20), 1):
        assert len(taken) <= done + workers.AHEAD * 2 + 1
    coming.close()


PARENT = """
import sys, time
sys.path.insert(0, {root!r})
from tests.test_workers import ready, slow
from autograder.workers import carry, pool
if __name__ == "__main__":
    for task, pid in carry(pool(2, ready), slow, range(1000)):
        print(pid, flush=True)
"""


def slow(number):
    time.sleep(0.05)
    return os.getpid()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_no_worker_outlives_a_killed_parent(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(root=str(Path(__file__).parents[1])))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as parent:
        pids = {int(parent.stdout.readline()) for _ in range(10)}
        assert pids
        parent.kill()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.05)
