"""The score is decided outside: what the child holds, reads and is sent has no answer in it.

While an answer is being observed, the child's whole memory is searched from outside, with its
environment, its files and every message that it was sent.
"""

import copy
import inspect
import json
import os
import struct
import sys
import threading
from itertools import product
from pathlib import Path

import nbformat
import pytest

from autograder.child import enclosure, near, start
from autograder.course import ASSIGNMENTS, BESIDE, assignment, find_course
from autograder.exercise import is_right
from autograder.exercises import declared
from autograder.grade import Terms, grade

COURSE = find_course()
FIRST = assignment("01-derivatives")
DECLARED = declared(FIRST)
WATCHED = DECLARED.exercise("derivative-gradient")
SEED = "5eed0f-c0de/student-07"

# Right answers, written otherwise than any declared one, up to the watched exercise.
ANSWERS = {
    "derivative-quotient": "def difference_quotient(f, x, h):\n    there = x + h\n    return (f(there) - f(x)) / (there - x if False else h)\n",
    "derivative-square": "def d_square(x):\n    return x * 2.0\n",
    "derivative-rise": "rise = 6 / 100\n",
    "derivative-gradient": "import time\ncalls = []\ndef gradient(f, point):\n    calls.append(f)\n    if len(calls) > 1: time.sleep(60)\n    return [6.0, 3.0]\n",
    "derivative-direction": "moves = 'left'\n",
    "derivative-step": "def descend(parameters, gradient, learning_rate):\n    return parameters\n",
}

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="a process's memory is read through /proc"
)


def secrets_of_the_course() -> dict[str, bytes]:
    """What must not be found, and how it would look in memory."""
    needles = {"the seed": SEED.encode()}
    for exercise in DECLARED.exercises:
        answers = {"the reference": exercise.reference, **exercise.variants}
        answers |= {f"mistake {mistake.id}": mistake.code for mistake in exercise.mistakes}
        for name, code in answers.items():
            if code.strip() not in "".join(ANSWERS.values()) and len(code) > 30:
                needles[f"{exercise.id}, {name}"] = code.strip().encode()
        for mistake in exercise.mistakes:
            needles[f"{exercise.id}, why {mistake.id}"] = mistake.explanation[:40].encode("utf-8")
        needles[f"{exercise.id}, tolerance"] = exercise.tolerance.because.encode()
    cases = WATCHED.cases(SEED)
    for number, seen in enumerate(DECLARED.observe(WATCHED, WATCHED.reference, cases)):
        for value in seen["parts"]["the gradient"]:
            if abs(value - round(value, 3)) > 1e-12:  # a double that nothing else holds by chance
                needles[f"expected in case {number}: {value}"] = struct.pack("<d", value)
    after = DECLARED.exercises[DECLARED.exercises.index(WATCHED) + 1 :]
    for exercise in after:
        for case in exercise.draw(__import__("random").Random(f"{SEED}/{exercise.id}")):
            needles[f"a future input of {exercise.id}"] = json.dumps(case).encode()
    return needles


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [one for child in map(int, children) for one in (child, *descendants(child))]


def memory(pid: int) -> list[bytes]:
    """The readable memory of a process, mapping by mapping."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            if not rights.startswith("r") or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            start, end = (int(edge, 16) for edge in span.split("-"))
            mem.seek(start)
            try:
                found.append(mem.read(end - start))
            except OSError:
                continue  # a guard page
    return found


@pytest.fixture(scope="module")
def dump():
    """All that the child has while the watched answer is observed: {where: bytes}."""
    notebook = nbformat.read(COURSE.source / FIRST.name / FIRST.file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    for cell in notebook.cells:
        cell.source = ANSWERS.get(cell.metadata["nbgrader"]["grade_id"], cell.source)
    watching, watched = threading.Event(), threading.Event()
    sent = []

    class Watched(near.Child):
        def ask(self, seconds, **request):
            if not watched.is_set():
                sent.append(json.dumps(request).encode())
            if request["do"] == "observe" and request["name"] == "derivatives.gradient":
                watching.set()
            return super().ask(seconds, **request)

    patch = pytest.MonkeyPatch()
    patch.setattr("autograder.grade.Child", Watched)
    files = {name: (BESIDE / name).read_bytes() for name in FIRST.beside}
    thread = threading.Thread(
        target=grade,
        args=(copy.deepcopy(notebook), DECLARED, SEED, files),
        kwargs={"terms": Terms(6.0, confined=False)},
    )
    thread.start()
    try:
        assert watching.wait(60)
        threading.Event().wait(2)  # the request has arrived and the answer sleeps
        outer = start._warm(os.getpid())._process.pid
        pids = [outer, *descendants(outer)]
        assert len(pids) >= 2, "the warm process and its child"
        found = {"messages": b"\n".join(sent)}
        for pid in pids:
            found[f"environment of {pid}"] = Path(f"/proc/{pid}/environ").read_bytes()
            found[f"arguments of {pid}"] = Path(f"/proc/{pid}/cmdline").read_bytes()
            for number, part in enumerate(memory(pid)):
                found[f"memory of {pid}, {number}"] = part
        for folder in (Path(f"/proc/{pid}/root{enclosure.HOME}") for pid in pids):
            for path in folder.rglob("*"):
                if path.is_file():
                    found[str(path.relative_to(folder))] = path.read_bytes()
        found["open files"] = b"\n".join(
            str(link.readlink()).encode() for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()
        )
        watched.set()
        yield found
    finally:
        thread.join()
        patch.undo()


def test_the_search_would_find_what_is_there(dump):
    """The answers, the given files and the current inputs are in memory: the search works."""
    there = [
        b"time.sleep(60)",
        b"rise = 6 / 100",
        b"An empty figure with one pair",
        b"d_square",
        struct.pack("<d", 6 / 100),
    ]
    for needle in there:
        assert any(needle in data for where, data in dump.items() if where.startswith("memory")), needle
    assert {"figures.py", "engine.py"} & set(dump), "the child's own folder"


def test_nothing_of_the_course_is_in_the_child(dump):
    needles = secrets_of_the_course()
    assert len(needles) > 60
    found = [
        f"{what} in {where}"
        for what, needle in needles.items()
        for where, data in dump.items()
        if needle in data
    ]
    assert found == []


def test_no_file_of_the_course_is_open_or_named(dump):
    for where in ("open files", "messages"):
        assert str(COURSE.root / "autograder").encode() not in dump[where]
        assert b"gradebook" not in dump[where]
    assert not any(
        name in path for path in dump for name in ("exercises", "exercise.py", "near.py", "start.py")
    )


def test_two_students_have_other_inputs_and_one_student_always_the_same():
    for exercise in DECLARED.exercises:
        if exercise.asks == "function":
            drawn = [exercise.cases(f"secret/{student}") for student in ("a", "b", "a")]
            assert drawn[0] == drawn[2] != drawn[1]


# How a function beside the observers may be called in the place of an answer.
CALLS = ("o.{helper}(*given)", "o.{helper}(globals(), *given)", "o.{helper}(globals(), *given, [])")


def borrowed(name):
    """The pairs of an exercise and what stands beside its observer that would do as its answer."""
    notebook = declared(assignment(name))
    module = sys.modules[notebook.exercises[0].observe.__module__]
    observers = {exercise.observe for exercise in notebook.exercises}
    helpers = [
        helper
        for helper, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and value not in observers
    ]
    for exercise in notebook.exercises:
        cases = exercise.cases(SEED)
        for helper, call in product(helpers if exercise.asks == "function" else (), CALLS):
            answer = f"import {module.__name__} as o\n" + "\n".join(
                f"def {one}(*given):\n    return {call.format(helper=helper)}" for one in exercise.names
            )
            if is_right(notebook, exercise, cases, [*notebook.observe(exercise, answer, cases)]):
                yield exercise.id, helper


@pytest.mark.parametrize("name", [one.name for one in ASSIGNMENTS])
def test_nothing_beside_the_observers_is_an_answer(name):
    """Students can import the observers where they run: what these need to observe must not be what was asked for."""
    assert list(borrowed(name)) == []
