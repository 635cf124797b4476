"""The exercises of 04-gradient-check."""

from collections.abc import Iterator, Sequence
from math import isclose
from random import Random
from typing import Any

from ..exercise import EXACT, ROUNDING, Exercise, Mistake, Notebook, Tolerance, edited, no_draw
from ..observe import gradient_check as observe
from ..observe.run import Case

GIVEN = """
import math
import numpy as np
from autograder.beside.engine import Value
from autograder.beside.suspects import build_engine, suspects

def step_error(h):
    def output(w1):
        return math.tanh(w1 * 2.0 + 6.8814)
    exact = 2.0 * (1.0 - output(-3.0) ** 2)
    return abs((output(-3.0 + h) - output(-3.0 - h)) / (2 * h) - exact)
"""

Terms = list[list[Any]]


def _polynomial(terms: Terms) -> str:
    return " + ".join(
        f"{c:g}" + "".join(f" * v[{i}]**{k}" for i, k in enumerate(powers) if k) for c, powers in terms
    )


def _step(case: Case) -> str:
    return "" if case["h"] is None else f", h={case['h']:g}"


def _draw_terms(random: Random, size: int, i: int, signs: Sequence[int] = (-1, 1)) -> Terms:
    """A cube of input `i`, whose central difference depends on h; a product; every input by itself."""
    cube = [random.choice(signs) * random.choice([2, 3]), [3 * (j == i) for j in range(size)]]
    product = [random.choice([-1, 1]), [1] * size]
    return [cube, product, *([j + 2, [int(j == k) for k in range(size)]] for j in range(size))]


def _draw_values(random: Random, size: int) -> list[float]:
    return [round(random.choice([-1, 1]) * random.uniform(0.5, 2), 1) for _ in range(size)]


def _draw_central(random: Random) -> Iterator[Case]:
    for size, i, h in ((1, 0, 0.5), (2, 1, 0.1), (3, 1, 0.2), (3, 2, None), (2, 0, None)):
        yield {
            "terms": _draw_terms(random, size, i),
            "values": _draw_values(random, size),
            "i": i,
            "h": h,
        }


central_reference = """
def central_difference(f, values, i, h=1e-6):
    def moved(step):
        return f([x + step * (j == i) for j, x in enumerate(values)])
    return (moved(h) - moved(-h)) / (2 * h)
"""

CENTRAL = Exercise(
    id="check-central",
    points=2,
    call=lambda case: (
        f"central_difference(f, {case['values']}, {case['i']}{_step(case)}) "
        f"with f(v) = {_polynomial(case['terms'])}"
    ),
    observe=observe.central,
    reference=central_reference,
    parts={
        "the central difference": "the two copies of `values`, one with entry i moved up by h, one with "
        "it moved down, and the 2 * h below",
        "the values afterwards": "what you move: it must be a copy, list(values)",
    },
    lesson=[{"terms": [[1, [3]]], "values": [2.0], "i": 0, "h": 0.1}],
    draw=_draw_central,
    tolerance=Tolerance(
        1e-8,
        2e-7,
        "with the step 1e-6, a rounding of these functions, which stay below 100, is 1e-14 and the "
        "quotient divides it by 2e-6",
    ),
    exact=("the values afterwards",),
    conditions=("the values afterwards",),
    variants={
        "two copies": """
def central_difference(f, values, i, h=1e-6):
    up, down = list(values), list(values)
    up[i] += h
    down[i] -= h
    return (f(up) - f(down)) / (2 * h)
""",
        "put back": """
def central_difference(f, values, i, h=1e-6):
    kept = values[i]
    values[i] = kept + h
    above = f(values)
    values[i] = kept - h
    below = f(values)
    values[i] = kept
    return (above - below) / h / 2
""",
        "array": """
def central_difference(f, values, i, h=1e-6):
    step = np.zeros(len(values))
    step[i] = h
    return (f(np.array(values) + step) - f(np.array(values) - step)) / (2 * h)
""",
        "mean of two quotients": """
def central_difference(f, values, i, h=1e-6):
    def at(x):
        return f([*values[:i], x, *values[i + 1:]])
    middle = at(values[i])
    return ((at(values[i] + h) - middle) / h + (middle - at(values[i] - h)) / h) / 2
""",
    },
    mistakes=[
        Mistake(
            "forward",
            edited(central_reference, "(moved(h) - moved(-h)) / (2 * h)", "(moved(h) - moved(0)) / h"),
            "This is the forward quotient of notebook 1: it steps to one side only. The central one "
            "takes f a step above and a step below the value, 2h apart.",
        ),
        Mistake(
            "h-for-2h",
            edited(central_reference, "(2 * h)", "h"),
            "Twice too large: the two points lie 2h apart, one step up and one step down, so divide by 2 * h.",
        ),
        Mistake(
            "brackets",
            edited(central_reference, "(2 * h)", "2 * h"),
            "`/ 2 * h` divides by 2 and then multiplies by h: Python works from left to right. Put 2 * h in brackets.",
        ),
        Mistake(
            "not-divided",
            edited(central_reference, " / (2 * h)", ""),
            "This is how much f changes between the two points, not how fast: divide by their distance.",
        ),
        Mistake(
            "sign",
            edited(central_reference, "moved(h) - moved(-h)", "moved(-h) - moved(h)"),
            "The sign is turned round: take f above, at x + h, minus f below, at x - h.",
        ),
        Mistake(
            "all-at-once",
            edited(central_reference, "step * (j == i)", "step"),
            "All the values move together. Only entry i is nudged, the others are held fixed.",
        ),
        Mistake(
            "first-only",
            edited(central_reference, "j == i", "j == 0"),
            "It is always the first value that moves. Move the one at the index `i`.",
        ),
        Mistake(
            "fixed-step",
            edited(central_reference, "    def moved", "    h = 1e-6\n    def moved"),
            "The step is always 1e-6, whatever `h` is passed: use the argument `h`.",
        ),
        Mistake(
            "no-default",
            edited(central_reference, "h=1e-6", "h"),
            "The step has lost its default: the first line must say `h=1e-6`, so that a caller can leave it out.",
        ),
        Mistake(
            "changes-values",
            """
def central_difference(f, values, i, h=1e-6):
    values[i] += h
    above = f(values)
    values[i] -= 2 * h
    below = f(values)
    return (above - below) / (2 * h)
""",
            "The quotient is right, but `values` itself is moved and stays so: whoever called you finds "
            "another number in it. Move copies, list(values).",
        ),
        Mistake(
            "same-list",
            """
def central_difference(f, values, i, h=1e-6):
    up = values
    down = values
    up[i] += h
    down[i] -= h
    return (f(up) - f(down)) / (2 * h)
""",
            "`up = values` and `down = values` give one list two more names: the step up and the step down "
            "cancel in it. Make two copies with list(values).",
        ),
    ],
)


def _draw_neuron(random: Random) -> Iterator[Case]:
    for sign in (-1, 1, -1, 1):  # of the sum, on whose sign a relu depends
        w1, w2 = (round(random.choice([-1, 1]) * random.uniform(0.5, 1.5), 1) for _ in range(2))
        x1, x2 = (round(random.choice([-1, 1]) * random.uniform(1.6, 2.5), 1) for _ in range(2))
        middle = round(sign * random.uniform(0.3, 0.9), 1)
        yield {"inputs": [w1, w2, round(middle - w1 * x1 - w2 * x2, 2), x1, x2]}


neuron_reference = """
def neuron(w1, w2, bias, x1, x2):
    return (w1 * x1 + w2 * x2 + bias).tanh()
"""

NEURON = Exercise(
    id="check-neuron",
    points=2,
    call=lambda case: f"neuron(*[Value(x) for x in {case['inputs']}])",
    observe=observe.neuron,
    reference=neuron_reference,
    parts={
        "the output": "the sum w1 * x1 + w2 * x2 + bias, in brackets, and then .tanh()",
        "the gradient by the weights and the bias": "whether the output is built from the Values by their own operators",
        "the gradient by the inputs x1 and x2": "which weight goes with which input",
    },
    lesson=[{"inputs": [-3.0, 1.0, 6.8814, 2.0, 0.0]}],
    draw=_draw_neuron,
    tolerance=ROUNDING,
    variants={
        "named steps": """
def neuron(w1, w2, bias, x1, x2):
    first = x1 * w1
    second = x2 * w2
    return (first + second + bias).tanh()
""",
        "sum": """
def neuron(w1, w2, bias, x1, x2):
    weighted = sum(w * x for w, x in zip([w1, w2], [x1, x2]))
    return Value.tanh(weighted + bias)
""",
        "through exp": """
def neuron(w1, w2, bias, x1, x2):
    e = ((bias + w1 * x1 + w2 * x2) * 2).exp()
    return (e - 1) / (e + 1)
""",
    },
    mistakes=[
        Mistake(
            "no-bias",
            edited(neuron_reference, " + bias", ""),
            "The bias is missing: it is added to the weighted inputs before the tanh.",
        ),
        Mistake(
            "no-tanh",
            edited(neuron_reference, ".tanh()", ""),
            "This is the weighted sum alone. A neuron then squashes it with tanh.",
        ),
        Mistake(
            "tanh-of-bias",
            edited(neuron_reference, "(w1 * x1 + w2 * x2 + bias).tanh()", "w1 * x1 + w2 * x2 + bias.tanh()"),
            "Only the bias goes through tanh: the dot binds more tightly than the plus. Put the sum in brackets.",
        ),
        Mistake(
            "bias-outside",
            edited(neuron_reference, " + bias).tanh()", ").tanh() + bias"),
            "The bias is added after the tanh. It belongs inside, to the sum that is squashed.",
        ),
        Mistake(
            "crossed",
            edited(neuron_reference, "w1 * x1 + w2 * x2", "w1 * x2 + w2 * x1"),
            "The weights are crossed: w1 belongs to x1 and w2 to x2.",
        ),
        Mistake(
            "detached",
            """
def neuron(w1, w2, bias, x1, x2):
    total = w1.data * x1.data + w2.data * x2.data + bias.data
    return Value(math.tanh(total))
""",
            "The number is right, but it was computed from `.data` and put into a new Value, which knows "
            "nothing of its parents: no gradient gets back. Use the Values' own operators and .tanh().",
        ),
        Mistake(
            "plain-number",
            """
def neuron(w1, w2, bias, x1, x2):
    return math.tanh(w1.data * x1.data + w2.data * x2.data + bias.data)
""",
            "A plain number came back, which has no gradient. Use the Values' own operators and .tanh(), "
            "not math.tanh and .data.",
        ),
        Mistake(
            "relu",
            edited(neuron_reference, ".tanh()", ".relu()"),
            "This neuron squashes with relu; here tanh is wanted.",
        ),
    ],
)


def _draw_gradient(random: Random) -> Iterator[Case]:
    def leaks(size: int) -> list[float]:
        """One for each input, the largest negative and neither the first nor, of three, the last."""
        large = round(random.uniform(1.5, 3), 2)
        small = [round(random.uniform(0.2, 0.7), 2) for _ in range(size - 1)]
        return [small[0], -large, *small[1:]]

    # The input with the cube has the largest error: of three never the first or the last. Its sign is either.
    for size, h, wrong, signs in (
        (3, 0.1, False, (1,)),
        (2, 0.2, False, (-1,)),
        (2, None, True, (-1, 1)),
        (3, None, True, (-1, 1)),
        (3, 0.1, True, (-1, 1)),
    ):
        yield {
            "terms": _draw_terms(random, size, 1, signs),
            "values": _draw_values(random, size),
            "leaks": leaks(size) if wrong else [0] * size,
            "h": h,
        }


gradient_reference = """
def gradient_error(f, values, h=1e-6):
    leaves = [Value(x) for x in values]
    f(leaves).backward()
    worst = 0.0
    for i, leaf in enumerate(leaves):
        up, down = list(values), list(values)
        up[i] += h
        down[i] -= h
        numeric = (f([Value(x) for x in up]).data - f([Value(x) for x in down]).data) / (2 * h)
        worst = max(worst, abs(leaf.grad - numeric))
    return worst
"""


def _gradient_call(case: Case) -> str:
    call = f"gradient_error(f, {case['values']}{_step(case)}) with f(v) = {_polynomial(case['terms'])}"
    if not any(case["leaks"]):
        return call
    return f"{call}, where a faulty operation makes the engine's gradient wrong by {case['leaks']}"


GRADIENT = Exercise(
    id="check-gradient",
    points=3,
    call=_gradient_call,
    observe=observe.gradient_error,
    reference=gradient_reference,
    parts={
        "the error of a right gradient": "the number from the engine and the central difference: both at "
        "the same values, one for each index, and with the same h",
        "the error of a wrong gradient": "the differences' sizes, abs(...), and the largest of them",
    },
    lesson=[{"terms": [[1, [2, 0]], [3, [0, 1]]], "values": [3.0, 1.0], "leaks": [0, 0], "h": None}],
    draw=_draw_gradient,
    tolerance=Tolerance(
        1e-6,
        1e-6,
        "with the step 1e-6 the central difference is off by rounding, below 1e-7 for these polynomials",
    ),
    variants={
        "by the earlier exercise": """
def gradient_error(f, values, h=1e-6):
    leaves = [Value(x) for x in values]
    output = f(leaves)
    output.backward()
    def number(xs):
        return f([Value(x) for x in xs]).data
    slopes = [central_difference(number, values, i, h) for i in range(len(values))]
    return max(abs(leaf.grad - slope) for leaf, slope in zip(leaves, slopes))
""",
        "array": """
def gradient_error(f, values, h=1e-6):
    leaves = [Value(x) for x in values]
    f(leaves).backward()
    by_engine = np.array([leaf.grad for leaf in leaves])
    by_steps = []
    for step in h * np.eye(len(values)):
        above = f([Value(x) for x in np.array(values) + step])
        below = f([Value(x) for x in np.array(values) - step])
        by_steps.append((above.data - below.data) / (2 * h))
    return np.max(np.abs(by_engine - np.array(by_steps)))
""",
        "one at a time": """
def gradient_error(f, values, h=1e-6):
    errors = []
    for i in range(len(values)):
        leaves = [Value(x) for x in values]
        f(leaves).backward()
        slope = leaves[i].grad
        leaves[i].data += h
        above = f(leaves).data
        leaves[i].data -= 2 * h
        below = f(leaves).data
        errors.append(abs((above - below) / (2 * h) - slope))
    return sorted(errors)[-1]
""",
    },
    mistakes=[
        Mistake(
            "no-abs",
            edited(gradient_reference, "abs(leaf.grad - numeric)", "leaf.grad - numeric"),
            "The differences keep their signs, so a gradient that is far too small looks fine. Take abs(...) of each.",
        ),
        Mistake(
            "first-only",
            edited(gradient_reference, "enumerate(leaves)", "enumerate(leaves[:1])"),
            "Only the first value's gradient is checked. Go through all of them and keep the largest difference.",
        ),
        Mistake(
            "last-only",
            edited(gradient_reference, "max(worst, abs(leaf.grad - numeric))", "abs(leaf.grad - numeric)"),
            "Each difference replaces the one before it, so the last alone comes back. Keep the largest.",
        ),
        Mistake(
            "sum",
            edited(
                gradient_reference,
                "worst = max(worst, abs(leaf.grad - numeric))",
                "worst += abs(leaf.grad - numeric)",
            ),
            "The differences are added up. What is wanted is the largest single one.",
        ),
        Mistake(
            "mean",
            edited(
                gradient_reference,
                "worst = max(worst, abs(leaf.grad - numeric))",
                "worst += abs(leaf.grad - numeric) / len(values)",
            ),
            "This is the mean difference. One wrong entry can hide in a mean; take the largest.",
        ),
        Mistake(
            "relative",
            edited(gradient_reference, "abs(leaf.grad - numeric)", "abs(leaf.grad - numeric) / abs(numeric)"),
            "The difference is divided by the gradient: a relative error. Here the plain, absolute difference is wanted.",
        ),
        Mistake(
            "squared",
            edited(gradient_reference, "abs(leaf.grad - numeric)", "(leaf.grad - numeric) ** 2"),
            "The differences are squared. Take their absolute value instead.",
        ),
        Mistake(
            "no-backward",
            edited(gradient_reference, "f(leaves).backward()", "f(leaves)"),
            "The engine's gradients are all 0, because backward() is never called on the output.",
        ),
        Mistake(
            "fixed-step",
            edited(gradient_reference, "    leaves =", "    h = 1e-6\n    leaves ="),
            "The step is always 1e-6: pass the argument `h` on to the central difference.",
        ),
        Mistake(
            "forward",
            edited(gradient_reference, "down[i] -= h", "").replace("(2 * h)", "h"),
            "The estimate steps to one side only. The central difference, a step to either side, is far more exact.",
        ),
        Mistake(
            "always-zero",
            "def gradient_error(f, values, h=1e-6):\n    return 0.0\n",
            "The answer is 0 whatever comes in. A check that cannot fail checks nothing.",
        ),
    ],
)


SOUND = ("+", -1, 1, 1, 1, 1)
# Sound as well, though nobody could read it off them: a fault of an operand that the operation has not, or of
# a local derivative that is 1. An answer that looks into the rules instead of at gradients is wrong about them.
DISGUISED = (
    ("+", -1, 1, 1, 0, 1),
    ("-", 0, 1, 1, 0, 1),
    ("**", 1, 1, 0.5, 1, 1),
    ("exp", 1, 0, 1, 1, 1),
    ("log", 1, 1, -1, 1, 1),
    ("tanh", 1, 1, 1, 1, 0),
    ("relu", 1, 1, 2, 1, 1),
)
OPERATIONS = ("+", "-", "*", "**", "exp", "log", "tanh", "relu")
LOCAL = "the verdict on engines with a wrong local derivative"
REUSE = "the verdict on engines that lose or double a use"
UPSTREAM = "the verdict on engines that ignore the gradient from above"
TREES = (
    "alder",
    "aspen",
    "beech",
    "ebony",
    "hazel",
    "holly",
    "larch",
    "olive",
    "rowan",
    "teak",
    "walnut",
    "yew",
)


def _fault(rule: list[Any]) -> str:
    """What is wrong with an engine built by `rule`, in words; nothing where it is sound."""
    operation, operand, keep, scale, local, upstream = rule
    if tuple(rule) in DISGUISED:
        return ""
    if operation == "walk":
        return "backward visits a node once for each of its uses"
    if keep == 0:
        return f"`{operation}` assigns the gradient instead of adding it"
    if upstream == 0:
        return f"`{operation}` ignores the gradient from above"
    if local == 0:
        return f"`{operation}` forgets its local derivative"
    if scale != 1:
        side = "" if operation in OPERATIONS[3:] else f" to its {('left', 'right')[operand]} side"
        return f"`{operation}` passes {scale:g} times the right gradient{side}"
    return ""


def _suspects_call(case: Case) -> str:
    faults = [f"in {name}, {_fault(rule)}" for name, rule in case["engines"] if _fault(rule)]
    sound = [name for name, rule in case["engines"] if not _fault(rule)]
    return f"find_broken(engines), where {' and '.join(sound)} {'is' if len(sound) == 1 else 'are'} sound; {'; '.join(faults)}"


def _draw_suspects(random: Random) -> Iterator[Case]:
    forgetful = random.choice(["exp", "log", "tanh"])
    local = [[random.choice(["+", "*"]), 1, 1, random.choice([-1, 0, 2]), 1, 1]]
    for operation in ("exp", "log", "tanh"):
        forgets = operation == forgetful
        local.append([operation, 0, 1, 1 if forgets else random.choice([0.5, -1, 2]), int(not forgets), 1])
    reuse = [
        [random.choice(["+", "*"]), -1, 0, 1, 1, 1],
        [random.choice(["exp", "tanh", "**"]), -1, 0, 1, 1, 1],
        ["log", -1, 0, 1, 1, 1],
        ["walk", 0, 1, 1, 1, 1],
    ]
    upstream = [
        ["-", -1, 1, 1, 1, 0],
        [random.choice(["exp", "tanh", "**"]), 0, 1, 1, 1, 0],
        ["log", 0, 1, 1, 1, 0],
    ]
    for about, rules in ((LOCAL, local), (REUSE, reuse), (UPSTREAM, upstream)):
        names = random.sample(TREES, len(rules) + 1)
        sound = random.choice(DISGUISED)
        engines = [[name, list(rule)] for name, rule in zip(names, [*rules, sound], strict=True)]
        yield {"about": about, "engines": random.sample(engines, len(engines))}


suspects_reference = """
def find_broken(engines):
    operations = [
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a ** 3,
        lambda a, b: a.exp(), lambda a, b: b.log(), lambda a, b: a.tanh(), lambda a, b: a.relu(),
        lambda a, b: b.relu(),
    ]

    def expression(operation, a, b):
        c = operation(a, b)
        return c * a + c * b

    def sound(engine, operation, point, tolerance=1e-4, h=1e-6):
        leaves = [engine(x) for x in point]
        expression(operation, *leaves).backward()
        for i, leaf in enumerate(leaves):
            up, down = ([x + s * h * (i == j) for j, x in enumerate(point)] for s in (1, -1))
            above, below = (expression(operation, *map(engine, xs)).data for xs in (up, down))
            if abs((above - below) / (2 * h) - leaf.grad) > tolerance:
                return False
        return True

    point = [-0.8, 1.7]
    return {
        name
        for name, engine in engines.items()
        if not all(sound(engine, operation, point) for operation in operations)
    }
"""


def _sorted_names(case: Case, part: str, value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return sorted(set(value))
    return value


SUSPECTS = Exercise(
    id="check-suspects",
    points=3,
    call=_suspects_call,
    observe=observe.suspects,
    reference=suspects_reference,
    parts={
        LOCAL: "whether each operation is tried with each of its operands, at values of both signs",
        REUSE: "whether each operation is tried on a value that something else uses too, and a computed "
        "value is used twice",
        UPSTREAM: "whether each operation is tried inside a larger expression, so that the gradient from above is not 1",
    },
    lesson=[
        {
            "about": LOCAL,
            "engines": [
                ["gum", ["-", 1, 1, -1, 1, 1]],
                ["ivy", list(SOUND)],
                ["box", ["relu", 0, 1, 1, 0, 1]],
                ["fig", ["**", 0, 1, 0.5, 1, 1]],
            ],
        },
        {
            "about": UPSTREAM,
            "engines": [["gum", ["+", -1, 1, 1, 1, 0]], ["ivy", list(SOUND)], ["box", ["*", -1, 1, 1, 1, 0]]],
        },
    ],
    draw=_draw_suspects,
    tolerance=EXACT,
    reading=_sorted_names,
    variants={
        "a table of expressions": """
def find_broken(engines):
    expressions = [
        lambda v: v[0] + v[0], lambda v: (v[0] + v[1]) * 3, lambda v: v[0] - v[1], lambda v: v[0] - v[0],
        lambda v: (v[0] - v[1]) * 3, lambda v: v[0] * v[0], lambda v: v[0] * v[1] * 3,
        lambda v: v[1] ** 2 * 3, lambda v: v[1] ** 3 + v[1], lambda v: v[0] / v[1],
        lambda v: v[1].exp() * 3, lambda v: v[1].exp() + v[1], lambda v: v[0].relu() * 3 + v[0],
        lambda v: v[1].relu() * 3 + v[1], lambda v: v[1].log() * 3, lambda v: v[1].log() + v[1],
        lambda v: v[0].tanh() * 3, lambda v: v[0].tanh() + v[0],
        lambda v: (v[0] + v[1] + v[0] * v[1]) + (v[0] + v[1]) * (v[0] * v[1]),
        lambda v: (lambda c: c * c + c)(v[0] * v[1]),
    ]
    broken = set()
    for name, engine in engines.items():
        for f in expressions:
            values = [-1.2, 0.7]
            leaves = [engine(x) for x in values]
            f(leaves).backward()
            for i in range(2):
                def number(xs):
                    return f([engine(x) for x in xs]).data
                if abs(central_difference(number, values, i) - leaves[i].grad) > 1e-5:
                    broken.add(name)
    return broken
""",
        "the engine in the place of Value": """
def find_broken(engines):
    def error(engine, f, values, h=1e-5):
        leaves = [engine(x) for x in values]
        f(*leaves).backward()
        slopes = []
        for i, x in enumerate(values):
            at = [f(*[engine(y) for y in [*values[:i], x + s, *values[i + 1:]]]).data for s in (h, -h)]
            slopes.append((at[0] - at[1]) / (2 * h))
        return max(abs(leaf.grad - slope) for leaf, slope in zip(leaves, slopes))

    def everything(a, b):
        c, g = (a * b + 0.5).tanh() + a * b, a - b
        d, e = c * c + 1, g ** 3 * 0.5 + g
        h = d.log() * e + d + b.exp() * b + a.tanh() * a
        return h * c + c.relu() * a + a.relu() * e - b.relu() / d + a * a + (b + b) * a + a.exp() * b + b

    return [
        name for name in engines
        if any(error(engines[name], everything, v) > 1e-4 for v in ([0.7, -1.1], [-0.6, 0.9], [1.2, 0.4]))
    ]
""",
        "against the sound engine": """
def find_broken(engines):
    def gradients(engine, operation, x, y):
        a, b = engine(x), engine(y)
        c = operation(a, b)
        (c * c * 0.5 + a * c + c * b).backward()
        return np.array([a.grad, b.grad])
    operations = [
        lambda a, b: a + b, lambda a, b: b - a, lambda a, b: a * b, lambda a, b: b ** 3,
        lambda a, b: b.exp(), lambda a, b: a.log(), lambda a, b: a.tanh(), lambda a, b: b.relu(),
    ]
    return frozenset(
        name for name, engine in engines.items()
        if not all(
            np.allclose(gradients(engine, operation, x, y), gradients(Value, operation, x, y))
            for operation in operations for x, y in [(0.7, -1.4), (1.9, 0.3)]
        )
    )
""",
    },
    mistakes=[
        Mistake(
            "sound-ones",
            edited(suspects_reference, "if not all(", "if all("),
            "These are the sound engines. Return the names of the broken ones.",
        ),
        Mistake(
            "never-from-above",
            edited(
                suspects_reference,
                "        c = operation(a, b)\n        return c * a + c * b\n",
                "        return operation(a, b)\n",
            ),
            "Each operation is checked by itself, so the gradient from above is always 1 and every value is used "
            "once. An engine that ignores the one, or loses a use, passes. Try each operation inside a larger expression.",
        ),
        Mistake(
            "used-once",
            edited(
                suspects_reference,
                "        c = operation(a, b)\n        return c * a + c * b\n",
                "        return operation(a, b) * 3\n",
            ),
            "No value is used twice in your expressions, so an engine that assigns gradients instead of adding them "
            "passes. Let a value go into the operation and once more into something later.",
        ),
        Mistake(
            "trees-only",
            edited(
                suspects_reference,
                "        c = operation(a, b)\n        return c * a + c * b\n",
                "        return operation(a, b) * b + a + (a + a) + a * a\n",
            ),
            "Your expressions use inputs twice, but never a computed value. An engine that walks back in a wrong "
            "order passes. Keep a result, c = a * b, and use c twice.",
        ),
        Mistake(
            "no-negative-values",
            edited(suspects_reference, "[-0.8, 1.7]", "[0.8, 1.7]"),
            "All your values are positive, and there a relu that lets everything through looks right. Try negative ones, too.",
        ),
        Mistake(
            "first-input-only",
            edited(suspects_reference, "enumerate(leaves)", "enumerate(leaves[:1])"),
            "Only the first input's gradient is checked, so a fault on the right side of an operation is missed.",
        ),
        Mistake(
            "sums-and-products-only",
            edited(
                suspects_reference,
                " lambda a, b: a ** 3,\n"
                "        lambda a, b: a.exp(), lambda a, b: b.log(), lambda a, b: a.tanh(), lambda a, b: a.relu(),\n"
                "        lambda a, b: b.relu(),\n",
                "\n",
            ),
            "Only +, - and * are tried. Each operation can have a fault of its own: **, exp, log, tanh and relu as well.",
        ),
        Mistake(
            "always-value",
            suspects_reference.replace("engine(x)", "Value(x)").replace("map(engine", "map(Value"),
            "You check the same `Value` each time, not the engines that were passed. Build the inputs with the engine itself: engine(x).",
        ),
        Mistake(
            "first-found",
            """
def find_broken(engines):
    for name, engine in engines.items():
        for operation in (lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a.relu(), lambda a, b: a.exp(),
                          lambda a, b: a + b, lambda a, b: a.tanh(), lambda a, b: b.log(), lambda a, b: a ** 3):
            found = []
            for build in (engine, Value):
                a, b = build(-1.2), build(0.7)
                c = operation(a, b)
                (c * a + c * b).backward()
                found.append([round(a.grad, 6), round(b.grad, 6)])
            if found[0] != found[1]:
                return {name}
    return set()
""",
            "Your search ends at the first broken engine. Collect the names in a set, and return it after the loop.",
        ),
        Mistake(
            "accuses-all",
            """
def find_broken(engines):
    broken = set()
    for name, engine in engines.items():
        a, b = engine(1.3), engine(0.6)
        for f in (lambda a, b: a + b, lambda a, b: a * b - a, lambda a, b: a.exp() * b):
            f(a, b).backward()
            up = (f(engine(1.3 + 1e-6), b).data - f(engine(1.3 - 1e-6), b).data) / 2e-6
            if abs(a.grad - up) > 1e-4:
                broken.add(name)
    return broken
""",
            "Every engine is accused, the sound ones too. There are two usual reasons: the inputs of one expression are "
            "used again for the next, and backward() adds to the gradients that are there (build fresh inputs); or the "
            "two numbers must be equal, while the central difference is an estimate (allow a small difference, such as 1e-5).",
        ),
        Mistake(
            "dictionary",
            suspects_reference.replace("        name\n", "        name: True\n"),
            "A dictionary came back. What is wanted is the set of the broken engines' names.",
        ),
    ],
)


def _best_step(case: Case, part: str, value: Any) -> Any:
    """1e-5 and 1e-6 are both right: which is better is a matter of the machine's rounding."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    right = number and any(isclose(value, best, rel_tol=1e-6) for best in (1e-5, 1e-6))
    return "best" if right else value


STEP = Exercise(
    id="check-step",
    points=1,
    call="",
    observe=observe.step,
    reference="best_h = 1e-5\n",
    parts={
        "`best_h`": "the power of ten, such as 1e-3, at which step_error is smallest: too large a step "
        "is inexact, and so is too small a one"
    },
    lesson=[{}],
    draw=no_draw,
    tolerance=Tolerance(1e-6, 0.0, "a power of ten may be off by rounding, as 0.1 ** 5 is"),
    reading=_best_step,
    variants={
        "the lesson's": "best_h = 1e-6\n",
        "searched": "best_h = min([10.0 ** -k for k in range(1, 16)], key=step_error)\n",
        "a power": "best_h = 0.1 ** 6\n",
    },
    mistakes=[
        Mistake(
            "smallest",
            "best_h = 1e-15\n",
            "The smallest step is not the best: f(x + h) and f(x - h) are then equal in almost all their digits, "
            "and their difference is made of rounding. Print step_error for each power.",
        ),
        Mistake(
            "largest",
            "best_h = 0.1\n",
            "So large a step leaves the neighbourhood of the point: the curve bends in between. Print step_error for each power.",
        ),
        Mistake(
            "exponent",
            "best_h = -5\n",
            "This is an exponent. `best_h` is the step itself, the power of ten, written like 1e-3.",
        ),
        Mistake(
            "the-error",
            "best_h = min(step_error(10.0 ** -k) for k in range(1, 16))\n",
            "This is the smallest error. Which step gives it?",
        ),
        Mistake(
            "largest-error",
            "best_h = max([10.0 ** -k for k in range(2, 15)], key=step_error)\n",
            "At this step the error is the largest. Look for the smallest.",
        ),
    ],
    asks="values",
)

RELU = Exercise(
    id="check-relu",
    points=1,
    call="",
    observe=observe.relu,
    reference="relu_gradients = (1.0, 0.0)\n",
    parts={"`relu_gradients`": "the slope of relu right of zero, then its slope left of zero: two numbers"},
    lesson=[{}],
    draw=no_draw,
    tolerance=Tolerance(0.0, 1e-6, "they may have been measured by a central difference"),
    variants={
        "list": "relu_gradients = [1, 0]\n",
        "measured": """
relu_gradients = []
for number in (2.0, -2.0):
    x = Value(number)
    x.relu().backward()
    relu_gradients.append(x.grad)
""",
    },
    mistakes=[
        Mistake(
            "values",
            "relu_gradients = (2.0, 0.0)\n",
            "These are relu's values, its heights. The question asks for its slopes there.",
        ),
        Mistake(
            "swapped",
            "relu_gradients = (0.0, 1.0)\n",
            "The order is turned round: first the gradient at 2, then the one at -2.",
        ),
        Mistake(
            "everywhere-1",
            "relu_gradients = (1.0, 1.0)\n",
            "Left of zero relu is flat: its value is 0 everywhere there. How fast does it change?",
        ),
        Mistake(
            "like-abs",
            "relu_gradients = (1.0, -1.0)\n",
            "These are the slopes of the absolute value. Left of zero relu does not fall: it stays 0.",
        ),
    ],
    asks="values",
)

NOTEBOOK = Notebook("04-gradient-check", GIVEN, (CENTRAL, NEURON, GRADIENT, SUSPECTS, STEP, RELU))
