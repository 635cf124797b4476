#!/usr/bin/env python3
"""`autograder grade` killed at random moments, and started again until it is done.

    python benchmarks/kills.py [--kills N] [--students N] [--seed S] [--json]

SIGKILL goes to the command itself, to one of its two workers, or to a process that student code runs in.
After each class the gradebook and the graded folders are compared with those of an undisturbed run, and
no process may be left. Linux only: it finds the processes in /proc.
"""

import argparse
import ctypes
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

from autograder.course import Course, assignment, find_course
from autograder.exercises import declared
from autograder.nbgrader_plugin import generate_release
from autograder.sample import Plan, Release, answers_to

COURSE = find_course(Path(__file__).parent)
ONE = assignment("01-derivatives")
TWICE = "died twice"  # the reason of a submission whose worker was killed when it was tried alone, too
PR_SET_CHILD_SUBREAPER = 36
GONE_WITHIN = 30.0  # seconds until the last process of a killed command has to be gone
COMMAND = "command"
KINDS = {"child.warm": "child", "spawn_main": "worker"}  # what a process's command line says of it
QUERIES = {
    "submissions": """
        select s.student_id, s.timestamp, n.late_submission_penalty from submitted_assignment s
        join submitted_notebook n on n.assignment_id = s.id""",
    "grades": """
        select s.student_id, c.name, g.auto_score, g.manual_score, g.needs_manual_grade from grade g
        join base_cell c on c.id = g.cell_id join submitted_notebook n on n.id = g.notebook_id
        join submitted_assignment s on s.id = n.assignment_id""",
    "comments": """
        select s.student_id, c.name, k.auto_comment, k.manual_comment from comment k
        join base_cell c on c.id = k.cell_id join submitted_notebook n on n.id = k.notebook_id
        join submitted_assignment s on s.id = n.assignment_id""",
}
Rows = dict[str, list[tuple[object, ...]]]


@dataclass
class Tally:
    """What was killed, and what was found afterwards."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    asked_again: int = 0
    classes: int = 0
    differing: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.kills.values())

    @property
    def good(self) -> bool:
        return not (self.differing or self.left or self.failed)


def make(root: Path, students: int) -> None:
    """A course folder with a class that is not graded yet: right and wrong answers."""
    (root / "source").mkdir(parents=True)
    shutil.copyfile(COURSE.root / "nbgrader_config.py", root / "nbgrader_config.py")
    shutil.copytree(COURSE.source / ONE.name, root / "source" / ONE.name)
    generate_release(root / "nbgrader_config.py", root, [ONE])
    Course(root).secret()  # drawn now, so that all copies have the same
    released = Release.read(COURSE, ONE)
    for number in range(students):
        draw = Random(f"kills/{number}")
        answers = {one.id: draw.choice(sorted(answers_to(one))) for one in declared(ONE).exercises}
        folder = root / "submitted" / f"student-{number:03}" / ONE.name
        folder.mkdir(parents=True)
        for name, data in released.submission(Plan("benchmark", answers)).items():
            (folder / name).write_bytes(data)


def rows(root: Path) -> Rows:
    """The gradebook's rows, without the ids that are drawn anew each time."""
    with sqlite3.connect(root / "gradebook.db") as book:
        return {name: sorted(book.execute(query), key=repr) for name, query in QUERIES.items()}


def files(root: Path) -> dict[str, bytes]:
    """Every file of the graded folders."""
    folder = root / "autograded"
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def adopt_orphans() -> None:
    """Has the processes of a killed command become ours, so that they are found."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this system gives no orphans to their grandparents")


def below(root: int) -> list[int]:
    """All living processes below the process `root`, by /proc."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                children.setdefault(int(parent), []).append(int(path.parent.name))
    found, queue = [], [root]
    while queue:
        new = children.get(queue.pop(), [])
        found += new
        queue += new
    return found


def kind(pid: int) -> str:
    """What a process below the command is: a worker, a child for student code, or something else."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return "gone"
    return next((name for part, name in KINDS.items() if part in line), "other")


def victim(command: subprocess.Popen[str], what: str, draw: Random) -> int | None:
    """A process of the kind `what`, as soon as there is one; None where the command has ended before."""
    while command.poll() is None:
        found = [command.pid] if what == COMMAND else [pid for pid in below(command.pid) if kind(pid) == what]
        if found:
            return draw.choice(sorted(found))
        time.sleep(0.005)
    return None


@cache
def terms() -> tuple[str, ...]:
    """Confined where this machine can; asked elsewhere, as the answer takes processes that stay."""
    doctor = subprocess.run([sys.executable, "-m", "autograder", "doctor"], capture_output=True, check=False)
    return ("--isolation", "none") if doctor.returncode else ()


@contextmanager
def command(root: Path, options: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """A running `autograder grade`, with temporary files of its own."""
    temporary = root / "tmp"
    temporary.mkdir(exist_ok=True)
    arguments = [sys.executable, "-m", "autograder", "grade", "--workers", "2", "--json"]
    arguments += [*terms(), *options]
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(arguments, cwd=root, env=environment, **said) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


def undisturbed(root: Path) -> tuple[Rows, dict[str, bytes], float]:
    """Rows and files as they have to be, and how long that takes: the second time, when files are cached."""
    for again in ([], ["--regrade"]):
        begun = time.monotonic()
        with command(root, again) as process:
            said, complaints = process.communicate()
        if process.returncode:
            raise SystemExit(f"the undisturbed run failed: {said}{complaints}")
    return rows(root), files(root), time.monotonic() - begun


def run_killed(root: Path, took: float, kills: int, draw: Random, tally: Tally) -> bool:
    """One run of the command, with up to `kills` kills; whether it came to its end."""
    tally.runs += 1
    with command(root) as process:
        for _ in range(kills):
            with suppress(subprocess.TimeoutExpired):
                process.wait(draw.uniform(0.0, took))
            what = draw.choice([COMMAND, *KINDS.values()])
            if (pid := victim(process, what, draw)) is None:
                break  # it has come to its end before
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                tally.kills[what] += 1
        said, complaints = process.communicate()
    if (
        process.returncode == 1
        and kills
        and all(TWICE in one["reason"] for one in json.loads(said)["failed"])
    ):
        tally.asked_again += 1  # two kills met the same submission: it is named, and left to the next run
    elif process.returncode not in (0, -signal.SIGKILL):
        tally.failed.append(f"exit code {process.returncode}: {said}{complaints}")
        return True  # another run would not do better
    return process.returncode == 0


def nobody_left() -> list[str]:
    """The command lines of what is still there, after all had their time to end."""
    deadline = time.monotonic() + GONE_WITHIN
    while (left := below(os.getpid())) and time.monotonic() < deadline:
        time.sleep(0.02)
    lines = [f"{pid} {kind(pid)}" for pid in left]
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return lines


def kill_and_compare(root: Path, kills: int, students: int, seed: str) -> Tally:
    """Classes graded under kills until there were `kills` of them."""
    adopt_orphans()
    make(root / "new", students)
    shutil.copytree(root / "new", root / "undisturbed")
    expected_rows, expected_files, took = undisturbed(root / "undisturbed")
    tally, draw = Tally(), Random(seed)
    while tally.total < kills:
        folder = root / "killed"
        shutil.copytree(root / "new", folder)
        done = False
        while not done:
            # the last run of a class has to get through, so the number of kills falls short at times
            done = run_killed(folder, took, min(3, kills - tally.total), draw, tally)
            tally.left += nobody_left()
        tally.classes += 1
        if rows(folder) != expected_rows:
            tally.differing.append(f"class {tally.classes}: rows")
        if files(folder) != expected_files:
            tally.differing.append(f"class {tally.classes}: files")
        shutil.rmtree(folder)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--students", type=int, default=24)
    parser.add_argument("--seed", default="kills")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = kill_and_compare(Path(folder), options.kills, options.students, options.seed)
    if options.json:
        print(json.dumps({**vars(tally), "good": tally.good}))
    else:
        each = ", ".join(f"{count} of a {what}" for what, count in sorted(tally.kills.items()))
        print(f"{tally.total} kills ({each}) in {time.monotonic() - begun:.0f} s")
        named = (
            f"; {tally.asked_again} named submissions to be graded by the next" if tally.asked_again else ""
        )
        print(f"{tally.runs} runs until {tally.classes} classes were done{named}")
        for line in (*tally.differing, *tally.left, *tally.failed):
            print(f"wrong: {line}")
        print("everything as in an undisturbed run" if tally.good else "NOT as in an undisturbed run")
    return 0 if tally.good else 1


if __name__ == "__main__":
    sys.exit(main())
