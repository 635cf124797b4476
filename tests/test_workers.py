"""Tasks carried to workers: every one comes back, whatever happens to who has it."""

import itertools
import multiprocessing
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


def torn(task):
    """Is killed, the first time that it is called with this folder, when half of its result is sent."""
    number, folder = task
    first = Path(folder) / str(number)
    if number == 3 and not first.exists():
        first.touch()
        frame = sys._getframe()
        while "result_queue" not in frame.f_locals:
            frame = frame.f_back
        results = frame.f_locals["result_queue"]
        results._wlock.acquire()
        os.write(results._writer.fileno(), (1000).to_bytes(4, "big") + b"the beginning")
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def no_worker_is_left() -> None:
    deadline = time.monotonic() + 30
    while multiprocessing.active_children():
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.05)


def test_a_worker_that_dies_while_it_sends_a_result_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "SILENCE", 0.5)
    tasks = [(number, str(tmp_path)) for number in range(10)]
    assert sorted(carry(pool(2, ready), torn, tasks)) == [(task, 2 * task[0]) for task in tasks]
    no_worker_is_left()


def test_a_worker_that_dies_while_another_one_starts_is_not_waited_for(monkeypatch):
    """Nobody looks for dead workers before all are started: whoever did would lose sight of the last one."""
    spawn, killed = workers._Pool._spawn_process, []

    def spawned(self):
        for one in [*self._processes.values()][: not killed]:
            one.kill()
            one.join()
            killed.append(one)
        time.sleep(0.2)
        assert not self._broken
        assert self._executor_manager_thread is None
        spawn(self)

    monkeypatch.setattr(workers._Pool, "_spawn_process", spawned)
    assert sorted(carry(pool(3, ready), double, range(9))) == [(n, 2 * n) for n in range(9)]
    assert killed
    no_worker_is_left()


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
