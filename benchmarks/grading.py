#!/usr/bin/env python3
"""The same made class graded by `nbgrader autograde` and by `autograder grade`, in one run.

    python benchmarks/grading.py [--students N] [--part N] [--assignments NAME ...] [--json] [--large N]

What counts are the ratios, of submissions a second without the time that a command takes to start up.
Submissions are right and wrong answers mixed, without the spoiled ones, of which nbgrader loses some and
waits for others.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import mean

from autograder.course import Assignment, Course, find_course, select
from autograder.exercises import declared
from autograder.nbgrader_plugin import generate_release
from autograder.sample import Plan, Release, answers_to, sentences

COURSE = find_course(Path(__file__).parent)
ALL_RIGHT = 0.5  # of the class; the others have a known mistake in some of their answers
SLIP = 0.4  # of these answers
COUNT = """
import time
end, count = time.monotonic() + 3, 0
while time.monotonic() < end:
    count += sum(i * i for i in range(1000)) > 0
print(count)
"""


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
        hand_in(Course(root), one, range(students))
    return Course(root)


def hand_in(room: Course, one: Assignment, numbers: Iterable[int]) -> None:
    release = Release.read(room, one)
    for number in numbers:
        folder = room.folder("submitted", one.name, f"student-{number:05}")
        folder.mkdir(parents=True)
        for name, data in release.submission(plan(one, number)).items():
            (folder / name).write_bytes(data)


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


def by_nbgrader(room: Course, assignments: Sequence[Assignment], command: str) -> tuple[float, float]:
    """Submissions a second that nbgrader's own command does, without its starting up, and seconds in all.

    It does one submission of each assignment first, and then, started anew, the others.
    """
    alone = others = 0.0
    count = 0
    for one in assignments:
        first, *rest = room.students_of("submitted", one)
        alone += timed(room, "nbgrader", command, one.name, "--student", first).total
        others += timed(room, "nbgrader", command, one.name).total
        count += len(rest) - 1
    return count / (others - alone), alone + others


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
    """Whether the gradebooks agree on what nbgrader has graded, where it grades rightly.

    It gives no part of the points where the visible test fails, and after a wrong answer it lets the
    next exercises fail that use it. So of each submission the cells are compared up to the first that is
    not worth all its points, and that one where it is worth none.
    """
    theirs, mine = rows(stock), rows(ours)
    students = {key[1] for key in theirs}
    mine = {key: row for key, row in mine.items() if key[1] in students}
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
def rooms(assignments: Sequence[Assignment], students: Mapping[str, int]) -> Iterator[list[Course]]:
    """Course folders by name, with so many of the same students; "stock" leaves nbgrader as it is."""
    with tempfile.TemporaryDirectory() as folder:
        yield [
            make_room(Path(folder) / name, assignments, count, name == "stock")
            for name, count in students.items()
        ]


def compare(assignments: Sequence[Assignment], students: int, part: int) -> dict[str, object]:
    """Times all that grade the class, one after the other; nbgrader's own, which takes long, a part of it."""
    count = students * len(assignments)
    names = [one.name for one in assignments]
    with rooms(assignments, {"stock": part, "one": students, "two": students}) as (stock, one, two):
        bare = timed(one, "benchmarks.bare", str(one.root), *names)
        single, double = graded(one, names, 1), graded(two, names, 2)
        cores = two_cores()
        # A machine that others use is not equally fast at all times: the other way round once more.
        double_again, single_again = graded(two, names, 2, "--regrade"), graded(one, names, 1, "--regrade")
        pages = timed(one, "autograder", "feedback", *names, "--workers", "1").total
        nbgrader, nbgrader_seconds = by_nbgrader(stock, assignments, "autograde")
        nbgrader_pages, pages_seconds = by_nbgrader(stock, assignments, "generate_feedback")
        same = same_scores(stock, one, assignments) and rows(one) == rows(two)
    one_worker = mean([single.rate(count), single_again.rate(count)])
    two_workers = mean([double.rate(count), double_again.rate(count)])
    return {
        "assignments": names,
        "submissions": count,
        "of them by nbgrader": part * len(assignments),
        "seconds": {
            "nbgrader autograde": round(nbgrader_seconds, 1),
            "autograder grade, 1 worker": round(single.total, 1),
            "autograder grade, 2 workers": round(double.total, 1),
            "bare": round(bare.total, 1),
            "nbgrader generate_feedback": round(pages_seconds, 1),
            "autograder feedback, 1 worker": round(pages, 1),
        },
        "ratio_stock": round(one_worker / nbgrader, 1),
        "ratio_bare": round(bare.rate(count) / one_worker, 2),
        "two_workers": round(two_workers / one_worker, 2),
        "two_cores": round(cores, 2),
        "feedback_ratio": round(count / pages / nbgrader_pages, 1),
        "first_result_seconds": round(max(single.first, double.first), 1),
        "same_scores": same,
    }


def graded(room: Course, names: Sequence[str], workers: int, *options: str) -> Run:
    return timed(room, "autograder", "grade", *names, "--workers", str(workers), *options)


def two_cores() -> float:
    """How much more two processes count than one in the same time: the most that two workers can reach."""
    alone, *together = counted(1) + counted(2)
    return sum(together) / alone


def counted(processes: int) -> list[int]:
    """How far each of so many processes counts in three seconds."""
    command = [sys.executable, "-c", COUNT]
    counting = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return [int(one.communicate()[0]) for one in counting]


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


@dataclass(frozen=True)
class Sample:
    """A look at a running grader: seconds since its start, submissions that are graded, KiB of memory."""

    seconds: float
    done: int
    kib: dict[str, int]


def watched(room: Course, names: Sequence[str]) -> list[Sample]:
    """Looks at `autograder grade` once a second, until it ends; what was graded before is not counted."""
    samples = []
    before = graded_folders(room)
    command = [sys.executable, "-m", "autograder", "grade", *names, "--workers", "2"]
    begun = time.monotonic()
    with subprocess.Popen(
        command, cwd=room.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as grader:
        while grader.poll() is None:
            time.sleep(1.0)
            seconds, memory = time.monotonic() - begun, resident(grader.pid)
            if not memory["grader"]:  # it has just ended
                memory = samples[-1].kib
            samples.append(Sample(seconds, graded_folders(room) - before, memory))
    if grader.returncode:
        raise SystemExit(f"autograder grade ended with {grader.returncode}")
    return samples


def graded_folders(room: Course) -> int:
    return sum(len(os.listdir(folder)) for folder in (room.root / "autograded").glob("*"))


def large(assignments: Sequence[Assignment], students: int) -> dict[str, object]:
    """A large class: its time, its memory, and the rate when it began and when the gradebook is full.

    The rates are those of as many submissions of the first assignment: a tenth of the class, which is the
    first in an empty gradebook, and then the last in one that has all others.
    """
    count, tenth, first = students * len(assignments), students // 10, assignments[0]
    with rooms(assignments, {"one": students}) as (room,):
        samples = watched(room, [one.name for one in assignments])
        hand_in(room, first, range(students, students + tenth))
        late = watched(room, [first.name])
    marks = [mark for mark in (100, 500, 1000, 2000, 4000, 8000, 16000) if mark <= count]
    reached = {mark: next(one for one in samples if one.done >= mark) for mark in marks}
    return {
        "submissions": count,
        "seconds": round(samples[-1].seconds, 1),
        "rate_first": round(rate(samples, tenth), 2),
        "rate_last": round(rate(late, tenth), 2),
        "memory_kib": {str(mark): one.kib for mark, one in reached.items()},
    }


def rate(samples: Sequence[Sample], count: int) -> float:
    """Submissions a second up to so many of them, without the time before the first."""
    begun = next(one for one in samples if one.done)
    ended = next(one for one in samples if one.done >= count)
    return (ended.done - begun.done) / (ended.seconds - begun.seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=200, metavar="N")
    parser.add_argument(
        "--assignments", nargs="*", default=[], metavar="NAME", help="all of them without any"
    )
    parser.add_argument("--part", type=int, metavar="N", help="let nbgrader grade the first N students alone")
    parser.add_argument("--json", action="store_true", help="one object, for programs")
    parser.add_argument(
        "--large", type=int, metavar="N", help="watch rate and memory of N students' grading instead"
    )
    options = parser.parse_args()
    os.environ.setdefault("PYTHONPATH", str(COURSE.root))
    assignments = select(options.assignments)
    if options.large:
        found = large(assignments, options.large)
    else:
        part = min(options.part or options.students, options.students)
        if part < 3:
            parser.error("nbgrader has to grade three students at least, for its time without starting up")
        found = compare(assignments, options.students, part)
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:22} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
