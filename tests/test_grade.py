"""A notebook through the child process: fair, each exercise on its own, not to be talked into a score."""

import copy
import json
import os
import socket
import tempfile
import time
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path

import nbformat
import pytest

from autograder import grade as grading
from autograder.child import start
from autograder.child.near import Child
from autograder.course import ASSIGNMENTS, BESIDE, assignment, find_course, laid_beside
from autograder.exercises import declared
from autograder.grade import Graded, Terms, Unconfined, grade

COURSE = find_course()
FIRST = assignment("01-derivatives")
DECLARED = declared(FIRST)
FILES = {name: (BESIDE / name).read_bytes() for name in FIRST.beside}
RIGHT = {exercise.id: exercise.reference for exercise in DECLARED.exercises}
FULL = {exercise.id: float(exercise.points) for exercise in DECLARED.exercises}


@pytest.fixture(scope="module")
def skeleton():
    """The instructor's notebook without prose and figures, which no verdict depends on."""
    notebook = nbformat.read(COURSE.source / FIRST.name / FIRST.file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    return notebook


@pytest.fixture
def graded(skeleton):
    """Grades the right notebook with other answers in the place of some."""

    def run(seconds: float = 10.0, before: str = "", **answers: str) -> Graded:
        notebook = copy.deepcopy(skeleton)
        answers = {name.replace("_", "-"): code for name, code in answers.items()}
        for cell in notebook.cells:
            name = cell.metadata["nbgrader"]["grade_id"]
            if name in RIGHT:
                cell.source = answers.get(name, RIGHT[name])
        if before:
            notebook.cells.insert(1, nbformat.v4.new_code_cell(before))
        return grade(notebook, DECLARED, "a seed", FILES, Terms(seconds, confined=False))

    return run


def scores(result: Graded) -> dict[str, float]:
    return {name: verdict.score for name, verdict in result.verdicts.items()}


def loses(*names: str) -> dict[str, float]:
    return {**FULL, **dict.fromkeys(names, 0.0)}


def test_right_answers_have_full_marks_and_clean_outputs(graded):
    result = graded()
    assert scores(result) == FULL
    assert not [output for cell in result.notebook.cells for output in cell.outputs]


SQUARE = "def d_square(x):\n    return 2 * x\n"

# What happens in an answer that is right all the same.
HARMLESS = {
    "prints": SQUARE + "print('x' * 5_000_000)\n",
    "prints when called": "def d_square(x):\n    print(x)\n    return 2 * x\n",
    "stderr": "import sys\ndef d_square(x):\n    print('hm', file=sys.stderr)\n    return 2 * x\n",
    "a warning": "import warnings\ndef d_square(x):\n    warnings.warn('hm')\n    return 2 * x\n",
    "input() above the function": "name = input('Your name? ')\n" + SQUARE,
    "a number from input()": "n = int(input('How many? '))\n" + SQUARE,
    "a magic that is not there": "%matplotlib widget\n" + SQUARE,
    "an error below the function": SQUARE + "1 / 0\n",
    "sum rebound": SQUARE + "sum = 3\nlen = list = zip = range = abs = float = isinstance = None\n",
    "the builtins themselves rebound": SQUARE + "import builtins\nbuiltins.sum = builtins.zip = None\n",
    "given names rebound": SQUARE + "np = figures = None\n",
    "another answer rebound": SQUARE + "difference_quotient = None\n",
    "random state": SQUARE + "import random\nrandom.seed(1)\n",
    "standard streams closed": SQUARE + "import sys\nsys.stdout.close()\n",
    "standard streams replaced": SQUARE + "import sys\nsys.stdout = sys.stderr = None\n",
    "descriptors closed": SQUARE + "import os\nfor n in (0, 1, 2): os.close(n)\n",
    "a working folder changed": SQUARE + "import os\nos.mkdir('x'); os.chdir('x')\n",
    "a thread left running": SQUARE
    + "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n",
    "await": "import asyncio\nawait asyncio.sleep(0)\n" + SQUARE,
    "exit": SQUARE + "exit()\n",
    "a NumPy scalar": "import numpy as np\ndef d_square(x):\n    return np.float64(2 * x)\n",
    "a long double": "import numpy as np\ndef d_square(x):\n    return np.longdouble(2) * x\n",
    "an array of no axes": "import numpy as np\ndef d_square(x):\n    return np.array(2.0 * x)\n",
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_is_no_mistake_costs_nothing(graded, what):
    assert scores(graded(derivative_square=HARMLESS[what])) == FULL


# What costs its exercise, and no other.
RUINOUS = {
    "a syntax error": "def d_square(x)\n    return 2 * x\n",
    "not there": "",
    "the stub": "def d_square(x):\n    raise NotImplementedError()\n",
    "an endless loop": "def d_square(x):\n    while True: pass\n",
    "an endless loop in the cell": "while True: pass\n",
    "one that swallows the interrupt": "def d_square(x):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass\n",
    "endless recursion": "def d_square(x):\n    return d_square(x)\n",
    "recursion that overflows the stack": "import sys\nsys.setrecursionlimit(10**9)\ndef d_square(x):\n    return [d_square(x)]\n",
    "os._exit(0) in the function": "import os\ndef d_square(x):\n    os._exit(0)\n",
    "os._exit(0) in the cell": "import os\nos._exit(0)\n",
    "sys.exit in the function": "import sys\ndef d_square(x):\n    sys.exit()\n",
    "a crash": "import ctypes\ndef d_square(x):\n    ctypes.string_at(0)\n",
    "memory without bound": "def d_square(x):\n    return [0] * 10**12\n",
    "memory without bound, slowly": "def d_square(x):\n    a = []\n    while True: a.append(bytearray(10**8))\n",
    "a huge answer": "def d_square(x):\n    return list(range(10**6))\n",
    "a huge text": "def d_square(x):\n    return 'x' * 10**7\n",
    "a huge number": "def d_square(x):\n    return 10 ** 10**5\n",
    "a deep answer": "def d_square(x):\n    a = []\n    for _ in range(10**5): a = [a]\n    return a\n",
    "a ring": "def d_square(x):\n    a = []\n    a.append(a)\n    return a\n",
    "NaN": "def d_square(x):\n    return float('nan')\n",
    "infinity": "def d_square(x):\n    return float('inf')\n",
    "random": "import random\ndef d_square(x):\n    return random.random()\n",
    "always equal": "class Yes:\n    def __eq__(self, other): return True\n    def __float__(self): return 1.0\n    __abs__ = __sub__ = __rsub__ = __lt__ = lambda *a: True\ndef d_square(x):\n    return Yes()\n",
    "a float that always agrees": "class Yes(float):\n    def __eq__(self, other): return True\n    def __abs__(self): return 0.0\n    def __sub__(self, other): return self\n    __rsub__ = __sub__\ndef d_square(x):\n    return Yes(1)\n",
    "an int that always agrees": "class Yes(int):\n    def __eq__(self, other): return True\ndef d_square(x):\n    return Yes(1)\n",
    "a text that always agrees": "class Yes(str):\n    def __eq__(self, other): return True\ndef d_square(x):\n    return Yes('1')\n",
    "a list that lies": "class Yes(list):\n    def __iter__(self): return iter([6])\n    def __eq__(self, other): return True\ndef d_square(x):\n    return Yes()\n",
    "an array of objects": "import numpy as np\nclass Yes:\n    def __eq__(self, other): return True\ndef d_square(x):\n    return np.array([Yes()], dtype=object)\n",
    "a lazy answer": "def d_square(x):\n    return (2 * y for y in [x])\n",
    "a function": "def d_square(x):\n    return lambda: 2 * x\n",
    "True": "def d_square(x):\n    return True\n",
    "an exception that cannot be printed": "class Bad(Exception):\n    def __str__(self): raise self\ndef d_square(x):\n    raise Bad()\n",
    "an exception that is no Exception": "class Bad(BaseException): pass\ndef d_square(x):\n    raise Bad()\n",
    "the displayhook": "import sys\ndef d_square(x):\n    sys.displayhook(1)\n",
    "asserts dropped": "import ast\nclass Drop(ast.NodeTransformer):\n    def visit_Assert(self, node): return None\nget_ipython().ast_transformers.append(Drop())\ndef d_square(x):\n    return 1\n",
    "the observer replaced": "import autograder.observe.derivatives as o\no.square = lambda names, case: iter([('the slope', 6)])\ndef d_square(x):\n    return 1\n",
    "the observations replaced": "import autograder.child.far as f\nf.observations = lambda *a: [{'parts': {}, 'error': None}]\ndef d_square(x):\n    return 1\n",
    "replies of another form": "import autograder.child.far as f\nf.observations = lambda *a: {'score': 1}\ndef d_square(x):\n    return 1\n",
    "replies that are no JSON": "import os\nfor n in range(3, 20):\n    try: os.write(n, b'full marks\\n')\n    except OSError: pass\ndef d_square(x):\n    return 1\n",
    "replies without end": "import os\ndef d_square(x):\n    while True:\n        for n in range(3, 20):\n            try: os.write(n, b'1' * 10**6)\n            except OSError: pass\n",
    "the grader imported": "def d_square(x):\n    import autograder.exercises.derivatives as d\n    return d.SQUARE.reference\n",
}


@pytest.mark.parametrize("what", RUINOUS)
def test_what_ruins_an_answer_costs_that_exercise_alone(graded, what):
    seconds = 3.0 if "endless" in what or "interrupt" in what or "bound" in what else 10.0
    result = graded(seconds, derivative_square=RUINOUS[what])
    assert scores(result) == loses("derivative-square")
    message = result.verdicts["derivative-square"].message
    assert message
    assert len(message.splitlines()) <= 8
    assert "autograder/" not in message
    test = next(
        c for c in result.notebook.cells if c.metadata["nbgrader"]["grade_id"] == "derivative-square-test"
    )
    assert test.outputs[-1].output_type == "error"


# What reaches out of the process. Each answer is wrong, so it costs its exercise; nothing may come of it.


def confined():
    """The layers that this machine has for the child."""
    with Child({}) as child:
        return set(child.layers)


LAYERS = confined()
needs_landlock = pytest.mark.skipif("landlock" not in LAYERS, reason="this kernel has no Landlock")
needs_namespaces = pytest.mark.skipif("namespaces" not in LAYERS, reason="no namespaces for this user")


def attack(graded, code: str, seconds: float = 10.0):
    """Grades a wrong answer that runs `code` in its function, and checks that it got nothing."""
    body = "\n".join(f"    {line}" for line in code.splitlines())
    result = graded(seconds, derivative_square=f"def d_square(x):\n{body}\n    return 1\n")
    assert scores(result) == loses("derivative-square")
    return result


@needs_landlock
def test_the_course_s_files_cannot_be_read(graded):
    secret = COURSE.root / "autograder" / "exercises" / "derivatives.py"
    assert secret.is_file()
    code = f"text = open({str(secret)!r}).read()\nreturn 2 * x"
    answer = "def d_square(x):\n" + "\n".join(f"    {line}" for line in code.splitlines()) + "\n"
    result = graded(derivative_square=answer)
    assert scores(result) == loses("derivative-square")
    message = result.verdicts["derivative-square"].message
    assert "FileNotFoundError" in message or "PermissionError" in message  # with or without a root of its own


@needs_landlock
def test_a_gradebook_and_other_submissions_cannot_be_changed(graded, tmp_path):
    gradebook = tmp_path / "gradebook.db"
    gradebook.write_bytes(b"scores")
    attack(
        graded,
        f"import os, pathlib\nfor act in (lambda: pathlib.Path({str(gradebook)!r}).write_text('all'), "
        f"lambda: os.remove({str(gradebook)!r}), lambda: os.rename({str(gradebook)!r}, 'mine'), "
        f"lambda: os.mkdir({str(tmp_path / 'x')!r}), lambda: os.symlink({str(gradebook)!r}, 'link') or open('link', 'w')):\n"
        "    try: act()\n    except OSError: pass",
    )
    assert gradebook.read_bytes() == b"scores"
    assert [path.name for path in tmp_path.iterdir()] == ["gradebook.db"]


@needs_namespaces
def test_nothing_outlives_its_notebook(graded):
    marker = "outlives-7c1f"
    attack(
        graded,
        "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        os.execv(sys.executable, [sys.executable, '-c', 'import time; time.sleep(99)', {marker!r}])\n    os._exit(0)",
    )
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(marker.encode() in line for line in running)


@needs_namespaces
def test_signals_do_not_reach_the_grader(graded):
    attack(
        graded,
        f"import os, signal\nfor pid in (os.getppid(), {os.getpid()}):\n"
        "    for number in (signal.SIGTERM, signal.SIGKILL):\n"
        "        try: os.kill(pid, number)\n        except OSError: pass",
    )


@needs_namespaces
def test_there_is_no_network(graded):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        attack(
            graded,
            "import socket\ntry:\n"
            f"    with socket.create_connection(('127.0.0.1', {port}), timeout=2) as s: s.sendall(b'answers?')\n"
            "except OSError: pass",
        )
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_one_huge_file_does_not_fill_the_disk(graded):
    result = attack(
        graded, "with open('big', 'wb') as file:\n    for _ in range(200): file.write(bytes(10**6))"
    )
    assert "File too large" in result.verdicts["derivative-square"].message or "ended" in str(result.verdicts)


def test_the_grader_s_environment_is_not_handed_on(graded, monkeypatch):
    monkeypatch.setenv("COURSE_PASSWORD", "open sesame")
    result = attack(graded, "import os\nraise ValueError(os.environ.get('COURSE_PASSWORD', 'nothing there'))")
    assert "nothing there" in result.verdicts["derivative-square"].message


def test_private_folders_are_removed(graded, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    attack(graded, "import os\nos.makedirs('a/b/c')\nos.chmod('a', 0)\nopen('x', 'w').write('y')")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not start.FORKS, reason="children are spawned here anyway")
def test_a_spawned_child_gives_the_same(graded, monkeypatch):
    code = {"derivative_square": "import os\ndef d_square(x):\n    os._exit(1)\n"}
    forked = graded(**code)
    monkeypatch.setattr(start, "FORKS", False)
    spawned = graded(**code)
    assert nbformat.writes(spawned.notebook) == nbformat.writes(forked.notebook)
    assert spawned.layers == forked.layers


def test_a_lost_child_s_earlier_cells_are_run_again(graded):
    """An exercise after the one that died still has the names that stood before it."""
    result = graded(
        before="base = 40\ndef helper(w): return w + base - 40\n",
        derivative_square="import os\ndef d_square(x):\n    os._exit(1)\n",
        derivative_step="def descend(parameters, gradient, learning_rate):\n    return [helper(w) - learning_rate * s for w, s in zip(parameters, gradient)]\n",
    )
    assert scores(result) == loses("derivative-square")


def test_a_cell_of_the_student_s_own_that_ends_the_process_is_left_out(graded):
    result = graded(before="import os\nos._exit(3)\n")
    assert scores(result) == FULL
    assert "This cell was left out" in result.notebook.cells[1].outputs[0].evalue


def test_an_answer_that_a_replay_leaves_out_takes_nothing_back():
    """What a kept answer bound stays bound, though an answer after it ends without having begun."""
    with Child(FILES) as child:
        child.ask(10, do="run", source="kept = lost = 1")
        child.ask(10, do="answer", to="first", source="kept = lost = 2")
        child.ask(10, do="settle", to="first", names=["kept"])
        child.ask(10, do="settle", to="second", names=["another"])
        child.ask(10, do="put", source="pass", instead="second")
        (output,) = child.ask(10, do="run", source="kept, lost")["outputs"]
    assert output["data"]["text/plain"] == "(2, 1)"


def answered(name: str, **answers: str) -> nbformat.NotebookNode:
    """An assignment's whole notebook, right but for these answers."""
    one = assignment(name)
    notebook = nbformat.read(COURSE.source / one.name / one.file, as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(cell.id.replace("-", "_"), cell.source)
    return notebook


def engine_scores(**answers: str) -> dict[str, float]:
    """The scores of the value engine's notebook with other answers in the place of some."""
    one = assignment("03-value-engine")
    return scores(
        grade(answered(one.name, **answers), declared(one), "a seed", laid_beside(one, drawn=False))
    )


HELPED = """
def node_of(data, parents, op, slopes=None):
    out = Value(data, parents, op)
    if slopes is not None:
        def _backward():
            for parent, slope in zip(parents, slopes):
                parent.grad += slope * out.grad
        out._backward = _backward
    return out
"""


def test_a_helper_that_a_later_answer_extends_stays_extended():
    """What an answer's functions look up is theirs, as in a kernel; `node_of` has two versions here."""
    add = HELPED.replace("parent.grad += slope", "parent.grad += 1.0").replace(
        "slopes=None", "slopes=(1.0, 1.0)"
    )
    multiply = HELPED.replace("slopes=None", "slopes=(1.0, 1.0), label=None")
    seen = engine_scores(
        value_add=f"{add}def add(self, other):\n    other = as_value(other)\n    return node_of(self.data + other.data, (self, other), '+')\n",
        value_mul=f"{multiply}def multiply(self, other):\n    other = as_value(other)\n    return node_of(self.data * other.data, (self, other), '*', (other.data, self.data), label='product')\n",
    )
    full = {exercise.id: exercise.points for exercise in declared(assignment("03-value-engine")).exercises}
    assert seen == full


def test_of_a_wrong_answer_nothing_stays():
    """Its helper of the same name as another answer's goes with it, though its functions look it up."""
    add = HELPED.replace("slopes=None", "slopes=(1.0, 1.0)")
    seen = engine_scores(
        value_add=f"{add}def add(self, other):\n    other = as_value(other)\n    return node_of(self.data + other.data, (self, other), '+')\n",
        value_mul="def node_of(*_):\n    return Value(0.0)\ndef multiply(self, other):\n    return node_of(self, other)\n",
    )
    full = {exercise.id: exercise.points for exercise in declared(assignment("03-value-engine")).exercises}
    assert seen == {**full, "value-mul": 0.0}


FORGED_REPLIES = {
    "nothing": "{}",
    "an error that is none": "{**right, 'error': 5}",
    "an error without its form": "{**right, 'error': {'type': 'E'}}",
    "outputs that are none": "{**right, 'outputs': 5}",
    "a number without end": "{**right, 'outputs': [{'output_type': 'stream', 'name': 'stdout', 'text': 1e999}]}",
}


@pytest.mark.parametrize("forged", FORGED_REPLIES.values(), ids=FORGED_REPLIES)
def test_a_forged_reply_costs_no_more_than_what_it_replies_to(graded, forged):
    """The shell forges what it says of the last answer; those before it have had their verdicts."""
    code = f"get_ipython().real = get_ipython().run\ndef forge(*a, **k):\n    right = get_ipython().real(*a, **k)\n    return {forged}\nget_ipython().run = forge\n"
    last = DECLARED.exercises[-1]
    result = graded(**{last.id.replace("-", "_"): code + last.reference})
    assert scores(result) == loses(last.id)
    assert "meddled" in result.verdicts[last.id].message
    nbformat.validate(result.notebook)


NUMBERS_OF_NO_ANSWER = ("1e999", "-1E+400", "1e0400", f"1{'0' * 299}e99", "1" * 301, "NaN", "-Infinity")
SOME = ("1e99", "-1e-999", "1" * 300, f"1{'0' * 250}.5")
FORGES_A_LINE = """
import sys
def forge(replies, reply):
    replies.write(('{"id": "%s", "n": IT}\\n' % reply["id"]).encode("CODEC"))
    replies.flush()
sys.modules["autograder.child.far"]._reply = forge
"""


@pytest.mark.parametrize("number", [*NUMBERS_OF_NO_ANSWER, *SOME], ids=lambda number: number[:12])
def test_a_number_comes_back_if_it_can_be_compared(number):
    with Child({}) as child:
        source = FORGES_A_LINE.replace("IT", number).replace("CODEC", "utf-8")
        if number in SOME:
            assert child.ask(10, do="run", source=source)["n"] == json.loads(number)
        else:
            with pytest.raises(grading.Lost, match="meddled"):
                child.ask(10, do="run", source=source)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16-be", "utf-32-be"])
def test_a_reply_in_another_encoding_is_none(codec):
    """What is looked for in a reply, such as half a character, would not be found in it."""
    source = FORGES_A_LINE.replace("IT", r'"\\ud800"').replace("CODEC", codec)
    with Child({}) as child, pytest.raises(grading.Lost, match="meddled"):
        child.ask(10, do="run", source=source)


@pytest.mark.parametrize("line", ["del math", "math.exp = lambda x: 3.0", "import numpy\nnumpy.exp = None"])
def test_what_an_answer_takes_away_is_put_back(line):
    one = declared(assignment("03-value-engine"))
    seen = engine_scores(value_add=f"{one.exercise('value-add').reference}\n{line}\n")
    assert seen == {exercise.id: exercise.points for exercise in one.exercises}


def test_an_answer_that_deletes_what_it_needs_costs_itself_alone():
    one = declared(assignment("03-value-engine"))
    seen = engine_scores(value_add=f"{one.exercise('value-add').reference}\ndel as_value\n")
    assert seen == {exercise.id: exercise.points for exercise in one.exercises} | {"value-add": 0.0}


def test_an_answer_that_dies_in_a_replay_has_its_reference_in_its_place(monkeypatch):
    ask, seen = Child.ask, []

    def asked(self, seconds, **request):
        seen.append(request["do"] == "answer" and request["to"])
        if seen.count("value-add") > 1 and seen[-1] == "value-add":
            self.close()
            raise grading.Lost("it did not finish in time")
        return ask(self, seconds, **request)

    monkeypatch.setattr(Child, "ask", asked)
    scored = engine_scores(value_tanh="import os\nos._exit(0)\n")
    full = {one.id: one.points for one in declared(assignment("03-value-engine")).exercises}
    assert scored == {**full, "value-tanh": 0.0}
    assert seen.count("value-add") == 2


def test_the_observer_s_frames_hold_no_answer():
    """An order of nodes that somebody else has made is not to be had."""
    code = "import sys\ndef topological_order(output):\n    frame, found = sys._getframe(1), []\n    while frame:\n        for one in list(frame.f_locals.values()):\n            if isinstance(one, dict): one = list(one.values())\n            if isinstance(one, list) and one and all(type(n) is Value for n in one): found = one\n        frame = frame.f_back\n    return found\n"
    full = {one.id: one.points for one in declared(assignment("03-value-engine")).exercises}
    assert engine_scores(value_order=code) == {**full, "value-order": 0.0}


READS_THE_RULES = """
import builtins
built, build = {}, build_engine
def build_engine(Value, rule):
    engine = build(Value, rule)
    built[id(engine)] = rule
    return engine
"""


def test_to_read_the_suspects_rules_is_not_to_check_them():
    one = assignment("04-gradient-check")
    code = f"{READS_THE_RULES}def find_broken(engines):\n    rules = {{name: list(built[id(one)]) for name, one in engines.items() if id(one) in built}}\n    return [name for name, rule in rules.items() if rule[0] == 'walk' or rule[2:] != [1, 1, 1, 1]]\n"
    notebook = answered(one.name, check_suspects=code)
    for seed in "abc":
        verdicts = grade(notebook, declared(one), seed, laid_beside(one, drawn=False)).verdicts
        assert verdicts["check-suspects"].score == 0


def test_a_failed_answer_is_replaced_for_what_follows(graded):
    result = graded(
        derivative_square="def d_square(x):\n    return x\n",
        derivative_rise="rise = d_square(3) * 0.01\n",
    )
    assert scores(result) == loses("derivative-square")


REFUSES_THE_COURSE_S_CODE = {
    "compile": """
import builtins, os
compile_ = builtins.compile
def compile(source, name, *more, **named):
    return os._exit(0) if name == "<course>" else compile_(source, name, *more, **named)
builtins.compile = compile
""",
    "an audit hook": """
import os, sys
def hook(event, arguments):
    if event == "compile" and arguments[1] == "<course>": os._exit(0)
sys.addaudithook(hook)
""",
}


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("one", ASSIGNMENTS, ids=lambda one: one.name)
def test_what_lies_beside_a_notebook_comes_with_its_byte_code(one, drawn):
    """Python takes byte code for a source's if both hold the source's hash (PEP 552)."""
    files = laid_beside(one, drawn)
    modules = [name for name in files if name.endswith(".py")]
    assert sorted(modules) == sorted({*one.beside, "explore.py"})
    for name in modules:
        code = files[cache_from_source(name)]
        assert code[:4] == MAGIC_NUMBER
        assert code[4:16] == (3).to_bytes(4, "little") + source_hash(files[name])
    source = "\n".join(f"import {name.removesuffix('.py')}" for name in modules)
    with Child(files) as child:
        assert child.ask(60, do="run", source=source)["error"] is None


def test_a_module_beside_the_notebook_that_was_changed_is_as_it_was_changed():
    source = "open('figures.py', 'a').write('\\nblue = BLUE')\nimport figures\nfigures.blue"
    with Child(laid_beside(FIRST, drawn=False)) as child:
        (output,) = child.ask(60, do="run", source=source)["outputs"]
    assert output["data"]["text/plain"] == "'#0072B2'"


@pytest.mark.parametrize("code", REFUSES_THE_COURSE_S_CODE.values(), ids=REFUSES_THE_COURSE_S_CODE)
def test_who_keeps_a_reference_out_ends_nothing_and_loses_nothing_more(graded, code):
    result = graded(before=code, derivative_square="def d_square(x):\n    return x\n")
    assert scores(result) == loses("derivative-square")


def test_a_name_of_the_course_s_that_is_gone_costs_no_other_exercise():
    """Where the reference cannot be attached after a student's own cell, it goes on without that cell."""
    one = assignment("03-value-engine")
    notebook = answered(one.name, value_mul="def multiply(self, other):\n    return self\n")
    number = next(n for n, cell in enumerate(notebook.cells) if cell.id == "value-mul")
    notebook.cells.insert(number, nbformat.v4.new_code_cell("Value_ = Value\ndel Value"))
    result = grade(notebook, declared(one), "a seed", laid_beside(one, drawn=False))
    wrong = {name for name, verdict in result.verdicts.items() if not verdict.right}
    assert wrong == {"value-mul"}


def test_what_is_run_again_has_a_limit_of_time(graded, monkeypatch):
    """Past it, what the student ran is left out, and the exercises that follow are judged all the same."""
    monkeypatch.setattr(grading, "REPLAY_SECONDS", 0.5)
    begun = time.monotonic()
    ending = "import os\nos._exit(0)\n"
    result = graded(
        before="import time\ntime.sleep(1)\n",
        derivative_square=ending,
        derivative_rise=ending,
        derivative_step=ending,
    )
    assert time.monotonic() - begun < 5  # the sleep once, and once more until the limit is seen
    assert scores(result) == loses("derivative-square", "derivative-rise", "derivative-step")


HALF = {
    "printed": SQUARE + "print('\\ud83d')\n",
    "on standard error": SQUARE + "import sys\nprint('\\uD83D', file=sys.stderr)\n",
    "displayed": SQUARE + "from IPython.display import display\ndisplay('\\udc80')\n",
    "raised": SQUARE + "raise ValueError('\\ud83d')\n",
}


@pytest.mark.parametrize("code", HALF.values(), ids=HALF)
def test_half_a_character_is_a_question_mark(graded, code):
    result = graded(derivative_square=code)
    assert scores(result) == FULL
    assert "?" in nbformat.writes(result.notebook).encode().decode()


def test_half_a_character_in_an_answer_is_a_question_mark(graded):
    result = graded(derivative_square="def d_square(x):\n    raise ValueError('\\ud83d')\n")
    assert scores(result) == loses("derivative-square")
    assert "ValueError: ?" in result.verdicts["derivative-square"].message


def test_a_whole_number_without_end_is_no_answer(graded):
    forged = "import sys\nsys.modules['autograder.observe.run'].plain = lambda value: 10**400\n"
    assert "meddled" in attack(graded, forged).verdicts["derivative-square"].message


def test_a_notebook_s_outputs_have_so_much_room(graded, monkeypatch):
    monkeypatch.setattr(grading, "ROOM", 5_000)
    result = graded(before="print('x' * 4_000)", derivative_square=SQUARE + "print('y' * 4_000)")
    first, second = (cell.outputs[0].text for cell in result.notebook.cells if cell.outputs)
    assert (first[:4], second) == ("xxxx", "(left out: the notebook's outputs are too large)\n")


def test_another_seed_another_verdict_s_inputs_and_the_same_seed_the_same_bytes(skeleton):
    def run(seed):
        notebook = copy.deepcopy(skeleton)
        for cell in notebook.cells:
            if cell.metadata["nbgrader"]["grade_id"] == "derivative-step":
                cell.source = (
                    "def descend(p, g, r):\n    print(p, object())\n    return [w - g[0] * r for w in p]\n"
                )
        return nbformat.writes(grade(notebook, DECLARED, seed, FILES).notebook)

    assert run("secret/a") == run("secret/a")
    assert run("secret/a") != run("secret/b")


def test_without_all_layers_nothing_runs_that_is_not_one_s_own(monkeypatch):
    ran = []
    monkeypatch.setattr(grading, "missing", lambda layers: {"landlock": "do this"})
    monkeypatch.setattr(grading._Run, "ask", lambda *args, **fields: ran.append(args))
    with pytest.raises(Unconfined, match="landlock: do this"):
        grade(nbformat.v4.new_notebook(), DECLARED, "a seed", FILES, Terms())
    assert ran == []


@pytest.mark.parametrize("times", [(1,), (2, 3), (5, 7), (4, 6, 8)])
@pytest.mark.parametrize("do", ["run", "answer", "test", "observe", "put", "settle"])
def test_a_child_that_is_killed_from_outside_costs_nothing(monkeypatch, graded, do, times):
    """Whatever it was asked then, in a replay, too: the notebook is as if nobody had been killed."""
    code = {"before": "base = 1\n", "derivative_square": "def d_square(x):\n    return x\n"}
    undisturbed = graded(**code)
    ask, count = Child.ask, 0

    def asked(self, seconds, **request):
        nonlocal count
        count += request["do"] == do
        if request["do"] == do and count in times:
            self.close()
            raise grading.Killed("it was killed")
        return ask(self, seconds, **request)

    monkeypatch.setattr(Child, "ask", asked)
    disturbed = graded(**code)
    for now, before in zip(disturbed.notebook.cells, undisturbed.notebook.cells, strict=True):
        assert {**now, "id": ""} == {**before, "id": ""}
    assert count or do == "settle"


@pytest.mark.parametrize("error", [grading.Killed, grading.Lost, grading.NoStart])
@pytest.mark.parametrize("times", [(1,), (2,), (1, 2), (2, 3)], ids=str)
def test_a_child_that_is_lost_before_it_is_ready_costs_nothing(monkeypatch, graded, times, error):
    """The first of a notebook, and the one that takes the place of another, which this answer ends."""
    code = {"derivative_square": "import os\nos._exit(1)", "before": "base = 1\n"}
    undisturbed = graded(**code)
    begin, count = Child.__init__, 0

    def begun(self, *arguments):
        nonlocal count
        count += 1
        if count in times:
            raise error("it is gone")
        begin(self, *arguments)

    monkeypatch.setattr(Child, "__init__", begun)
    disturbed = graded(**code)
    assert count > max(times)
    for now, before in zip(disturbed.notebook.cells, undisturbed.notebook.cells, strict=True):
        assert {**now, "id": ""} == {**before, "id": ""}


def test_where_no_child_gets_ready_nothing_is_graded(monkeypatch, graded):
    """That is the machine's fault: it is reported, and no score is given."""

    def begun(*_):
        raise grading.Lost("it is gone")

    monkeypatch.setattr(Child, "__init__", begun)
    with pytest.raises(OSError, match="before they are ready"):
        graded()
