"""Carries tasks to workers, here or on a cluster, and brings every one of them back."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import connection
from typing import Any, TypeVar

from .course import CourseError

SILENCE = 5.0  # seconds without any result after which it is looked whether workers are still there
AHEAD = 3  # tasks for each worker that are under way, so that none waits and memory stays flat

Task = TypeVar("Task")
Result = TypeVar("Result")
Outcomes = Generator[tuple[Task, Result | BaseException], None, list[Task]]


@dataclass(frozen=True)
class Crew:
    """Workers: how to get them, again where they are lost, and how many tasks they take at once."""

    hire: Callable[[], Executor]
    size: int


class Died(Exception):
    """The worker that a task was with died, and when the task was tried alone, died again."""


class Gone(Exception):
    """The scheduler that the tasks were given to is not there any more."""


def crew_of(workers: int | None, scheduler: str | None, ready: Callable[[], object]) -> Crew:
    """The crew that a command's options ask for: a cluster's, or a pool's with a worker a core."""
    return cluster(scheduler) if scheduler else pool(workers or os.cpu_count() or 1, ready)


def pool(workers: int, ready: Callable[[], object]) -> Crew:
    """Processes on this machine, spawned: the same on every system.

    The first of them start at once, and call `ready`, while the caller is still getting ready itself.
    """
    first = [_Pool(workers)]
    with suppress(BrokenExecutor):  # a worker has died already: it is seen when the first task is submitted
        for _ in range(workers):
            first[0].submit(ready)
    return Crew(lambda: first.pop() if first else _Pool(workers), workers)


class _Pool(ProcessPoolExecutor):
    """A pool that comes to its end at whatever moment one of its workers is killed.

    Python's own starts workers while its thread ends those that it knows of, where one is dead, and waits for
    the others; and it waits for the rest of a result whose worker was killed while it sent it.
    """

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._theirs, self._lifeline = context.Pipe(duplex=False)
        super().__init__(workers, context, _begin, (self._theirs,))
        self._safe_to_dynamically_spawn_children = False  # all of them, before that thread is started

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the workers with the pool, those as well that the pool has lost sight of."""
        self._lifeline.close()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def look(self) -> None:
        """Ends the pool where a worker has died and nobody has been told: its result breaks off."""
        if connection.wait([one.sentinel for one in self._processes.values()], timeout=0):
            self._lifeline.close()
            results: Any = self._result_queue
            results._writer.close()  # ours: with the workers', which end, it is the last


def cluster(scheduler: str) -> Crew:
    """The workers of a Dask cluster.

    Raises CourseError where Dask is not installed, no scheduler answers, or it has no workers.
    """
    try:
        from distributed import Client  # noqa: PLC0415  (nobody else waits for Dask)
    except ModuleNotFoundError:
        advice = "install the package with its extra 'cluster'"
        raise CourseError(f"--scheduler needs Dask: {advice}") from None
    try:
        client: Any = Client(scheduler, timeout=10)
    except OSError as error:
        raise CourseError(f"no Dask scheduler answers at {scheduler}: {error}") from None
    threads = sum(client.nthreads().values())
    if not threads:
        raise CourseError(f"the Dask scheduler at {scheduler} has no workers")
    return Crew(client.get_executor, threads)


def _begin(lifeline: "connection.Connection") -> None:
    """Has a worker end with its parent or its pool, however they end, and leave Ctrl-C to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel, lifeline])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def carry(
    crew: Crew, act: Callable[[Task], Result], tasks: Iterable[Task]
) -> Iterator[tuple[Task, Result | BaseException]]:
    """`act` on every task: each with its result or its error, as they come.

    A worker that dies takes its whole pool with it. What was under way is then tried again, one task
    at a time: one that kills a worker when it is alone comes back with Died, the others with their
    results. Raises Gone where a cluster's scheduler is lost.
    """
    waiting = iter(tasks)
    while lost := (yield from _while_whole(crew, act, waiting, AHEAD * crew.size)):
        suspects = iter(lost)
        while died := (yield from _while_whole(crew, act, suspects, 1)):
            yield died[0], Died("the process that graded it died twice")


def _while_whole(
    crew: Crew, act: Callable[[Task], Result], tasks: Iterator[Task], most: int
) -> "Outcomes[Task, Result]":
    """Carries tasks until there are no more, or a worker dies; returns what was under way then."""
    under_way: dict[Future[Result], Task] = {}
    executor = crew.hire()
    try:
        while True:
            for task in islice(tasks, most - len(under_way)):
                under_way[_submit(executor, act, task)] = task
            if not under_way:
                return []
            done, _ = wait(under_way, SILENCE, FIRST_COMPLETED)
            if not done and isinstance(executor, _Pool):
                executor.look()
            lost = [future for future in done if isinstance(_error(future), BrokenExecutor)]
            for future in done.difference(lost):
                error = _error(future)
                yield under_way.pop(future), future.result() if error is None else error
            if lost:
                return list(under_way.values())
    finally:
        with suppress(Exception):  # a broken pool may not even shut down
            executor.shutdown(wait=False, cancel_futures=True)


def _submit(executor: Executor, act: Callable[[Task], Result], task: Task) -> Future[Result]:
    """A future that is broken, too, where the pool is already."""
    try:
        return executor.submit(act, task)
    except BrokenExecutor as error:
        future: Future[Result] = Future()
        future.set_exception(error)
        return future


def _error(future: Future[Result]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError:
        raise Gone("the cluster's scheduler is gone") from None
