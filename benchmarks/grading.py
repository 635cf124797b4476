#!/usr/bin/env python3
"""The same made class graded by `nbgrader autograde` and by `autograder grade`, in one run.

    python benchmarks/grading.py [--students N] [--assignments NAME ...] [--json] [--memory N]

Whole commands are timed, from their start to their end; what counts are the ratios. Submissions are
right and wrong answers mixed, without the spoiled ones, of which nbgrader loses some and waits for others.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from autograder.course import Assignment, Course, find_course, select
from autograder.exercises import declared
from autograder.nbgrader_plugin import generate_release
from autograder.sample import Plan, Release, answers_to, sentences

COURSE = find_course(Path(__file__).parent)
ALL_RIGHT = 0.5  # of the class; the others have a known mistake in some of their answers
SLIP = 0.4  # of these answers


@dataclass(frozen=True)
class Run:
    """A timed command: when its first result came, and when it was over, in seconds from its start."""

    first: float
    first_count: int
    total: float

    def rate(self, count: int) -> float:
        """Submissions a second after the first results, so that starting up does not count."""
        return (count - self.first_count) / (self.total - self.first)


def plan(one: Assignment, student: int) -> Plan:
    """What a student hands in: the same for every run."""
    random = Random(f"benchmark/{one.name}/{student}")
    right = random.random() < ALL_RIGHT
    answers = {}
    for exercise in declared(one).exercises:
        slips = [name for name in answers_to(exercise) if name.startswith("mistake ")]
        good = [name for name in answers_to(exercise) if name not in slips]
        answers[exercise.id] = random.choice(good if right or random.random() > SLIP else slips)
    for written in declared(one).written:
        answers[written.id] = f"text {random.randrange(len(sentences(written.id)))}"
    return Plan("benchmark", answers)


def make_room(root: Path, assignments: Sequence[Assignment], students: int, stock: bool) -> Course:
    """A course folder with a class; with `stock`, nbgrader is left as it is."""
    root.mkdir()
    text = (COURSE.root / "nbgrader_config.py").read_text(encoding="utf-8")
    text = text.replace("\nconfigure(c)\n", "\n") if stock else text
    (root / "nbgrader_config.py").write_text(text, encoding="utf-8")
    for one in assignments:
        shutil.copytree(COURSE.source / one.name, root / "source" / one.name)
    generate_release(root / "nbgrader_config.py", root, assignments)
    for one in assignments:
        release = Release.read(Course(root), one)
        for number in range(students):
            folder = root / "submitted" / f"student-{number:05}" / one.name
            folder.mkdir(parents=True)
            for name, data in release.submission(plan(one, number)).items():
                (folder / name).write_bytes(data)
    return Course(root)


def start(room: Course, *command: str, stderr: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", *command], cwd=room.root, stdout=subprocess.DEVNULL, stderr=stderr, text=True
    )


def timed(room: Course, *command: str) -> Run:
    """Runs a command in the course's folder; raises where it fails."""
    begun = time.monotonic()
    first, count = 0.0, 0
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=room.root,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if not first and " graded, " in line:
                first, count = time.monotonic() - begun, int(line.split()[0].replace(",", ""))
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{''.join(said[-20:])}")
    return Run(first, count, time.monotonic() - begun)


def by_nbgrader(room: Course, assignments: Sequence[Assignment], command: str) -> float:
    """Seconds that nbgrader's own command takes for all the assignments."""
    return sum(timed(room, "nbgrader", command, one.name).total for one in assignments)


def rows(room: Course) -> dict[tuple[str, str, str], tuple[float | None, bool]]:
    """The automatic scores of a gradebook, and whether a person has to mark, by assignment, student, cell."""
    query = """
        select a.name, s.student_id, c.name, g.auto_score, g.needs_manual_grade
        from grade g join base_cell c on c.id = g.cell_id
        join submitted_notebook n on n.id = g.notebook_id
        join submitted_assignment s on s.id = n.assignment_id join assignment a on a.id = s.assignment_id
    """
    with sqlite3.connect(room.root / "gradebook.db") as book:
        return {tuple(row[:3]): (row[3], bool(row[4])) for row in book.execute(query)}


def same_scores(stock: Course, ours: Course, assignments: Sequence[Assignment]) -> bool:
    """Whether the gradebooks agree where nbgrader grades rightly.

    It gives no part of the points where the visible test fails, and after a wrong answer it lets the
    next exercises fail that use it. So of each submission the cells are compared up to the first that is
    not worth all its points, and that one where it is worth none.
    """
    theirs, mine = rows(stock), rows(ours)
    if theirs.keys() != mine.keys():
        return False
    for one in assignments:
        for student in {key[1] for key in mine if key[0] == one.name}:
            for exercise in declared(one).exercises:
                key = (one.name, student, f"{exercise.id}-test")
                if mine[key][0] in (0, exercise.points) and theirs[key] != mine[key]:
                    return False
                if mine[key][0] != exercise.points:
                    break
            for written in declared(one).written:
                key = (one.name, student, written.id)
                if theirs[key] != mine[key]:
                    return False
    return True


@contextmanager
def rooms(assignments: Sequence[Assignment], students: int, *names: str) -> Iterator[list[Course]]:
    """Course folders with the same class, by name; the one called "stock" leaves nbgrader as it is."""
    with tempfile.TemporaryDirectory() as folder:
        yield [make_room(Path(folder) / name, assignments, students, name == "stock") for name in names]


def compare(assignments: Sequence[Assignment], students: int) -> dict[str, object]:
    """Times all that grade the class, one after the other."""
    count = students * len(assignments)
    names = [one.name for one in assignments]
    with rooms(assignments, students, "stock", "one", "two") as (stock, one, two):
        bare = timed(one, "benchmarks.bare", str(one.root), *names)
        single = timed(one, "autograder", "grade", *names, "--workers", "1")
        double = timed(two, "autograder", "grade", *names, "--workers", "2")
        pages = timed(one, "autograder", "feedback", *names, "--workers", "1").total
        nbgrader = by_nbgrader(stock, assignments, "autograde")
        nbgrader_pages = by_nbgrader(stock, assignments, "generate_feedback")
        same = same_scores(stock, one, assignments) and rows(one) == rows(two)
    return {
        "assignments": names,
        "submissions": count,
        "seconds": {
            "nbgrader autograde": round(nbgrader, 1),
            "autograder grade, 1 worker": round(single.total, 1),
            "autograder grade, 2 workers": round(double.total, 1),
            "bare": round(bare.total, 1),
            "nbgrader generate_feedback": round(nbgrader_pages, 1),
            "autograder feedback, 1 worker": round(pages, 1),
        },
        "ratio_stock": round(nbgrader / single.total, 1),
        "ratio_bare": round(bare.rate(count) / single.rate(count), 2),
        "two_workers": round(double.rate(count) / single.rate(count), 2),
        "feedback_ratio": round(nbgrader_pages / pages, 1),
        "first_result_seconds": round(max(single.first, double.first), 1),
        "same_scores": same,
    }


def resident(pid: int) -> dict[str, int]:
    """The memory of the grader and its processes, in KiB each, by what they are."""
    found = {"grader": 0, "workers": 0}
    for stat in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in stat.read_text().splitlines() if ":" in line)
        except OSError:  # it has just ended
            continue
        own = stat.parent.name == str(pid)
        if own or int(fields["PPid"]) == pid:
            found["grader" if own else "workers"] += int(fields.get("VmRSS", "0 kB").split()[0])
    return found


def memory(assignments: Sequence[Assignment], students: int) -> dict[str, object]:
    """How much memory the grader and its workers hold while a large class goes through."""
    names = [one.name for one in assignments]
    samples: list[tuple[int, dict[str, int]]] = []
    with rooms(assignments, students, "one") as (room,):
        command = [sys.executable, "-m", "autograder", "grade", *names, "--workers", "2"]
        with subprocess.Popen(
            command, cwd=room.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as one:
            over = threading.Event()
            threading.Thread(target=lambda: (one.wait(), over.set()), daemon=True).start()
            while not over.wait(1.0):
                done = sum(1 for _ in (room.root / "autograded").glob("*/*"))
                samples.append((done, resident(one.pid)))
    shown = [100, *range(500, students * len(assignments) + 1, 500)]
    return {str(done): next((kib for at, kib in samples if at >= done), samples[-1][1]) for done in shown}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=200, metavar="N")
    parser.add_argument(
        "--assignments", nargs="*", default=[], metavar="NAME", help="all of them without any"
    )
    parser.add_argument("--json", action="store_true", help="one object, for programs")
    parser.add_argument(
        "--memory", type=int, metavar="N", help="watch the memory of N students' grading instead"
    )
    options = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(COURSE.root))
    assignments = select(options.assignments)
    found = memory(assignments, options.memory) if options.memory else compare(assignments, options.students)
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:22} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
