"""The exercises of 01-derivatives."""

from collections.abc import Iterator
from random import Random

from ..exercise import EXACT, ROUNDING, Exercise, Mistake, Notebook, Tolerance, edited, no_draw
from ..observe import derivatives as observe
from ..observe.run import Case


def _formula(terms: list[list[float]]) -> str:
    return " + ".join(f"{c:g} * x**{k:g}" for c, k in terms)


def _monomials(case: Case) -> str:
    return " + ".join(
        f"{c:g}" + "".join(f" * p[{i}]**{k}" for i, k in enumerate(powers) if k)
        for c, powers in case["terms"]
    )


def _draw_quotient(random: Random) -> Iterator[Case]:
    # The lesson's step, 0.01, is not among them: who uses that one always is found out.
    steps = random.sample([0.5, 0.1, 0.2, -0.25], 4)
    for degree, h in zip((1, 2, 3, 3), steps, strict=True):
        terms = [[random.randint(1, 5), degree], [random.choice([-3, -2, 2, 3]), 1]]
        yield {
            "terms": terms,
            "x": round(random.uniform(-3, 3), 1),
            "h": h,
        }


quotient_reference = """
def difference_quotient(f, x, h):
    return (f(x + h) - f(x)) / h
"""

QUOTIENT = Exercise(
    id="derivative-quotient",
    points=2,
    call=lambda case: (
        f"difference_quotient(f, {case['x']:g}, {case['h']:g}) with f(x) = {_formula(case['terms'])}"
    ),
    observe=observe.quotient,
    reference=quotient_reference,
    parts={"the quotient": "the rise, f(x + h) - f(x), and what it is divided by"},
    lesson=[{"terms": [[1, 2]], "x": 3, "h": 0.01}],
    draw=_draw_quotient,
    tolerance=ROUNDING,
    variants={
        "named steps": """
def difference_quotient(f, x, h):
    start, end = f(x), f(x + h)
    rise = end - start
    return rise / h
""",
        "two quotients": """
def difference_quotient(f, x, h):
    return f(x + h) / h - f(x) / h
""",
    },
    mistakes=[
        Mistake(
            "central",
            edited(quotient_reference, "(f(x + h) - f(x)) / h", "(f(x + h) - f(x - h)) / (2 * h)"),
            "This is the central quotient, which steps to both sides. It is the better estimate, "
            "and notebook 4 uses it; here the forward one is wanted, from x to x + h.",
        ),
        Mistake(
            "not-divided",
            edited(quotient_reference, "(f(x + h) - f(x)) / h", "f(x + h) - f(x)"),
            "This is how much f rises, not how fast: divide the rise by the step h.",
        ),
        Mistake(
            "backward-sign",
            edited(quotient_reference, "f(x + h) - f(x)", "f(x) - f(x + h)"),
            "The sign is turned round: the rise is where you end, f(x + h), minus where you began, f(x).",
        ),
        Mistake(
            "brackets",
            edited(quotient_reference, "(f(x + h) - f(x)) / h", "f(x + h) - f(x) / h"),
            "Only f(x) is divided by h. Python divides before it subtracts: put brackets around the rise.",
        ),
        Mistake(
            "fixed-step",
            edited(quotient_reference, "    return", "    h = 0.01\n    return"),
            "The step is always the same, whatever `h` is passed: use the argument `h`.",
        ),
    ],
)

square_reference = """
def d_square(x):
    return 2 * x
"""

SQUARE = Exercise(
    id="derivative-square",
    points=1,
    call="d_square({x:g})",
    observe=observe.square,
    reference=square_reference,
    parts={"the slope": "what is left of the quotient (2xh + h²) / h when h shrinks to nothing"},
    lesson=[{"x": 3}, {"x": -2}],
    draw=lambda random: [{"x": round(random.uniform(-9, 9), 2)} for _ in range(4)],
    tolerance=ROUNDING,
    variants={
        "sum": "def d_square(x):\n    return x + x\n",
        "power rule": "def d_square(x):\n    return 2 * x ** (2 - 1)\n",
    },
    mistakes=[
        Mistake(
            "the-square",
            edited(square_reference, "2 * x", "x ** 2"),
            "This is the square itself, its height at x. The derivative is its slope there.",
        ),
        Mistake(
            "estimate",
            edited(square_reference, "2 * x", "((x + 0.001) ** 2 - x ** 2) / 0.001"),
            "This is a quotient with a small step, which is off by about the step. The derivative is "
            "the value that it approaches: work out on paper what is left when h is 0.",
        ),
        Mistake(
            "constant",
            edited(square_reference, "2 * x", "2"),
            "The slope is the same everywhere only for a straight line. That of x² depends on x.",
        ),
        Mistake(
            "positive",
            edited(square_reference, "2 * x", "2 * abs(x)"),
            "Left of zero the square falls as x grows, so its slope is negative there: keep the sign of x.",
        ),
        Mistake(
            "half",
            edited(square_reference, "2 * x", "x"),
            "The factor 2 is lost: (x + h)² holds xh twice.",
        ),
    ],
)

RISE = Exercise(
    id="derivative-rise",
    points=1,
    call="",
    observe=observe.rise,
    reference="rise = 2 * 3 * 0.01\n",
    parts={"`rise`": "the slope at 3 times the step of 0.01"},
    lesson=[{}],
    draw=no_draw,
    tolerance=ROUNDING,
    variants={
        "number": "rise = 0.06\n",
        "by function": "slope = d_square(3)\nrise = slope * 0.01\n",
    },
    mistakes=[
        Mistake(
            "exact",
            "rise = 3.01 ** 2 - 3 ** 2\n",
            "This is the exact rise, 0.0601. The question asks what the derivative alone predicts: "
            "slope times step. (The two differ by h².)",
        ),
        Mistake(
            "slope",
            "rise = 6\n",
            "This is the slope, how fast the square rises. Over a step of 0.01 it rises by the slope times 0.01.",
        ),
        Mistake("value", "rise = 3.01 ** 2\n", "This is the square at 3.01. How much more is it than at 3?"),
    ],
    asks="values",
)


def _draw_gradient(random: Random) -> Iterator[Case]:
    for size in (1, 2, 3, 3):
        terms = [
            [random.choice([-3, -2, 2, 3]), [random.randint(0, 2) for _ in range(size)]] for _ in range(2)
        ]
        terms += [[i + 2, [int(i == j) for j in range(size)]] for i in range(size)]
        yield {"terms": terms, "point": [round(random.uniform(0.5, 3), 1) for _ in range(size)]}


gradient_reference = """
def gradient(f, point):
    slopes = []
    for i in range(len(point)):
        nudged = list(point)
        nudged[i] += 1e-6
        slopes.append((f(nudged) - f(point)) / 1e-6)
    return slopes
"""

GRADIENT = Exercise(
    id="derivative-gradient",
    points=3,
    call=lambda case: f"gradient(f, {case['point']}) with f(p) = {_monomials(case)}",
    observe=observe.gradient,
    reference=gradient_reference,
    parts={
        "the gradient": "the copy of `point` in which one entry alone is nudged",
        "the point afterwards": "the list that you nudge: it must be a copy, list(point)",
    },
    lesson=[
        {"terms": [[1, [2, 0]], [3, [0, 1]]], "point": [3, 1]},
        {"terms": [[1, [2]]], "point": [-3]},  # a falling function, whose rise is negative
    ],
    draw=_draw_gradient,
    tolerance=Tolerance(
        1e-4,
        1e-4,
        "a one-sided quotient with the step 1e-6 is off by half the step times the second "
        "derivative, below 1e-4 for these polynomials, and a central one by less",
    ),
    exact=("the point afterwards",),
    conditions=("the point afterwards",),
    variants={
        "quotient": """
def gradient(f, point):
    def along(i):
        return lambda x: f([*point[:i], x, *point[i + 1:]])
    return [difference_quotient(along(i), x, 1e-6) for i, x in enumerate(point)]
""",
        "central": """
def gradient(f, point):
    h = 1e-5
    result = []
    for i in range(len(point)):
        up, down = list(point), list(point)
        up[i] += h
        down[i] -= h
        result.append((f(up) - f(down)) / (2 * h))
    return tuple(result)
""",
        "array": """
import numpy as np

def gradient(f, point):
    steps = 1e-6 * np.eye(len(point))
    return np.array([(f(list(point + step)) - f(point)) / 1e-6 for step in steps])
""",
    },
    mistakes=[
        Mistake(
            "all-at-once",
            """
def gradient(f, point):
    h = 1e-6
    moved = [x + h for x in point]
    return [(f(moved) - f(point)) / h for _ in point]
""",
            "All the inputs move together. A partial derivative moves one of them and holds the others fixed.",
        ),
        Mistake(
            "changes-point",
            edited(gradient_reference, "nudged = list(point)", "before, nudged = f(point), point").replace(
                "f(point)) / 1e-6", "before) / 1e-6"
            ),
            "The slopes are right, but `point` itself is nudged and stays so: whoever called you finds "
            "other numbers in it. Nudge a copy, list(point).",
        ),
        Mistake(
            "first-only",
            edited(gradient_reference, "    return slopes", "    return slopes[:1]"),
            "Only the first partial derivative comes back. The gradient has one entry for each input.",
        ),
        Mistake(
            "not-divided",
            edited(gradient_reference, "(f(nudged) - f(point)) / 1e-6", "f(nudged) - f(point)"),
            "These are the rises, not the slopes: divide each by the step.",
        ),
        Mistake(
            "summed",
            edited(gradient_reference, "    return slopes", "    return sum(slopes)"),
            "The partial derivatives are added up into one number. The gradient keeps them apart, as a list.",
        ),
        Mistake(
            "sign",
            edited(gradient_reference, "f(nudged) - f(point)", "f(point) - f(nudged)"),
            "The signs are turned round: subtract the value before the nudge from the value after it.",
        ),
    ],
)

DIRECTION = Exercise(
    id="derivative-direction",
    points=1,
    call="",
    observe=observe.direction,
    reference='moves = "right"\n',
    parts={"`moves`": 'the sign of the slope at -2, and the minus in the rule; it is "right" or "left"'},
    lesson=[{}],
    draw=no_draw,
    tolerance=EXACT,
    reading=lambda case, part, value: value.strip().lower() if isinstance(value, str) else value,
    variants={"capital": 'moves = "Right"\n'},
    mistakes=[
        Mistake(
            "uphill",
            'moves = "left"\n',
            "At -2 the slope is negative: the square falls towards the right. Descent goes against the gradient.",
        ),
        Mistake("both", 'moves = "right or left"\n', "The answer is one of the two words."),
    ],
    asks="values",
)


def _draw_step(random: Random) -> Iterator[Case]:
    for size in (1, 2, 4):
        yield {
            "parameters": [round(random.uniform(-5, 5), 1) for _ in range(size)],
            "gradient": [round(random.choice([-1, 1]) * random.uniform(1.5, 6), 1) for _ in range(size)],
            "learning_rate": random.choice([0.01, 0.1, 0.25]),
        }


step_reference = """
def descend(parameters, gradient, learning_rate):
    return [w - learning_rate * slope for w, slope in zip(parameters, gradient)]
"""

STEP = Exercise(
    id="derivative-step",
    points=2,
    call="descend({parameters}, {gradient}, {learning_rate})",
    observe=observe.step,
    reference=step_reference,
    parts={
        "the new parameters": "w - learning_rate * slope, for each parameter and its own slope",
        "the arguments afterwards": "the list that you fill: it must be a new one, not an argument",
    },
    lesson=[{"parameters": [3.0], "gradient": [6.0], "learning_rate": 0.1}],
    draw=_draw_step,
    tolerance=ROUNDING,
    conditions=("the arguments afterwards",),
    variants={
        "loop": """
def descend(parameters, gradient, learning_rate):
    new = []
    for i in range(len(parameters)):
        new.append(parameters[i] - learning_rate * gradient[i])
    return new
""",
        "array": """
import numpy as np

def descend(parameters, gradient, learning_rate):
    return np.array(parameters) - learning_rate * np.array(gradient)
""",
        "tuple": """
def descend(parameters, gradient, learning_rate):
    steps = (-learning_rate * slope for slope in gradient)
    return tuple(w + step for w, step in zip(parameters, steps))
""",
    },
    mistakes=[
        Mistake(
            "uphill",
            edited(step_reference, "w - learning_rate", "w + learning_rate"),
            "The plus moves every parameter up the slope, and the loss grows. Descent subtracts.",
        ),
        Mistake(
            "no-rate",
            edited(step_reference, "learning_rate * slope", "slope"),
            "The learning rate is not used: the step is the rate times the slope.",
        ),
        Mistake(
            "in-place",
            """
def descend(parameters, gradient, learning_rate):
    for i, slope in enumerate(gradient):
        parameters[i] -= learning_rate * slope
    return parameters
""",
            "The new numbers are right, but they are written into the list `parameters` that the caller "
            "still holds. Build a new list.",
        ),
        Mistake(
            "sign-only",
            edited(step_reference, "learning_rate * slope", "learning_rate * (1 if slope > 0 else -1)"),
            "Every step has the same length: only the slope's sign is used. A steep slope makes a long step.",
        ),
        Mistake(
            "step-only",
            edited(step_reference, "w - learning_rate * slope", "-learning_rate * slope"),
            "These are the steps alone. The new parameters are the old ones plus their steps.",
        ),
        Mistake(
            "scaled",
            edited(step_reference, "w - learning_rate * slope", "w * (1 - learning_rate * slope)"),
            "The step is multiplied by the parameter. It is subtracted from it as it is: w - rate * slope.",
        ),
    ],
)

NOTEBOOK = Notebook("01-derivatives", "", (QUOTIENT, SQUARE, RISE, GRADIENT, DIRECTION, STEP))
