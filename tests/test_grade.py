"""A notebook through the child process: fair, each exercise on its own, not to be talked into a score."""

import copy

import nbformat
import pytest

from autograder.course import BESIDE, assignment, find_course
from autograder.exercises import declared
from autograder.grade import Graded, grade

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
        return grade(notebook, DECLARED, "a seed", FILES, seconds)

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
