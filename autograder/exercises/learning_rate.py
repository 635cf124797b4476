"""The exercises of 08-learning-rate."""

from collections.abc import Iterator
from random import Random
from typing import Any

from ..exercise import EXACT, ROUNDING, Exercise, Mistake, Notebook, Tolerance, Written, edited
from ..observe import learning_rate as observe
from ..observe.run import Case

GIVEN = """
import math

import numpy as np

xs = [0.0, 1.0, 2.0, 3.0]
ys = [1.0, 3.0, 5.0, 7.0]

def train(learning_rate, steps):
    w, b, rows = 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        rows.append((step, sum(e * e for e in errors) / len(xs), w, b))
        w -= learning_rate * sum(2 * e * x for e, x in zip(errors, xs)) / len(xs)
        b -= learning_rate * sum(2 * e for e in errors) / len(xs)
    return rows
"""

STEEPEST = 8.40512483795333  # (9 + sqrt(61)) / 2, of the lesson's points


def _draw_study(random: Random) -> Iterator[Case]:
    for updates in (1, 3, 12):
        rates = random.sample([0.001, 0.004, 0.01, 0.03, 0.05, 0.08, 0.1, 0.15, 0.26, 0.3], 3)
        yield {"rates": rates, "updates": updates}


study_reference = """
def study(rates, updates):
    return {rate: train(rate, updates)[-1][1] for rate in rates}
"""

STUDY = Exercise(
    id="rate-study",
    points=2,
    call="study({rates}, {updates})",
    observe=observe.study,
    reference=study_reference,
    parts={
        "the set of rates": "the keys of the dict: the rates themselves, as numbers, each of them once",
        "the loss for each rate": "which row of the history is the one after that many updates, and which of its "
        "numbers; do not round it",
    },
    conditions=("the set of rates",),
    lesson=[
        {"rates": [0.001, 0.1, 0.3], "updates": 100},
        {"rates": [0.01, 0.05, 0.2], "updates": 20},
    ],
    draw=_draw_study,
    tolerance=Tolerance(
        1e-6,
        0.0,
        "where the rate converges, later steps shrink earlier rounding, and the errors w x + b - y, above 1e-6 "
        "here, are known to about 1e-14, their squares to 1e-8 of themselves; where it diverges, the rounding "
        "grows by the same factor as the loss, so that 100 updates leave 13 digits of it, however large it is",
    ),
    variants={
        "loop": """
def study(rates, updates):
    losses = {}
    for rate in rates:
        history = train(rate, updates)
        step, loss, w, b = history[updates]
        losses[rate] = loss
    return losses
""",
        "own loop": """
def study(rates, updates):
    result = dict.fromkeys(rates)
    X = np.stack([np.array(xs), np.ones(len(xs))], axis=1)
    for rate in rates:
        parameters = np.zeros(2)
        for _ in range(updates):
            parameters = parameters - rate * 2 * X.T @ (X @ parameters - ys) / len(xs)
        result[rate] = ((X @ parameters - ys) ** 2).mean()
    return result
""",
        "pairs": """
def study(rates, updates):
    return dict(zip(rates, [[row[1] for row in train(rate, updates)][-1] for rate in rates]))
""",
    },
    mistakes=[
        Mistake(
            "one-early",
            edited(study_reference, "train(rate, updates)", "train(rate, updates - 1)"),
            "These are the losses one update too early. Row 0 is before any update, so the loss after n updates "
            "stands in row n.",
        ),
        Mistake(
            "one-late",
            edited(study_reference, "train(rate, updates)", "train(rate, updates + 1)"),
            "These are the losses one update too late: train(rate, updates) ends with the row after that many.",
        ),
        Mistake(
            "slope",
            edited(study_reference, "[-1][1]", "[-1][2]"),
            "These are the slopes w. A row is (step, loss, w, b): the loss is its second entry.",
        ),
        Mistake(
            "first-row",
            edited(study_reference, "[-1][1]", "[0][1]"),
            "This is the loss before any update, the same for every rate. Take the last row.",
        ),
        Mistake(
            "smallest",
            edited(
                study_reference, "train(rate, updates)[-1][1]", "min(row[1] for row in train(rate, updates))"
            ),
            "This is the smallest loss on the way. For a rate that diverges that is the first; asked for is the last.",
        ),
        Mistake(
            "last-rate-only",
            """
def study(rates, updates):
    for rate in rates:
        losses = {rate: train(rate, updates)[-1][1]}
    return losses
""",
            "Only the last rate is in the dict, because it is made anew in each round. Make it once, before the loop.",
        ),
        Mistake(
            "list",
            """
def study(rates, updates):
    return [train(rate, updates)[-1][1] for rate in rates]
""",
            "A list comes back. A dict was asked for, which gives the loss for a rate: losses[0.05].",
        ),
        Mistake(
            "text-keys",
            edited(study_reference, "{rate: train", "{str(rate): train"),
            "The keys are texts. Whoever looks up losses[0.05], with a number, finds nothing: use the rate itself.",
        ),
        Mistake(
            "upside-down",
            edited(study_reference, "rate: train(rate, updates)[-1][1]", "train(rate, updates)[-1][1]: rate"),
            "Keys and values have changed places: the dict must give the loss for a rate, not the rate for a loss.",
        ),
        Mistake(
            "nothing",
            "\ndef study(rates, updates):\n    pass\n",
            "The function returns nothing. After the loop over the rates it must `return` the dict.",
        ),
        Mistake(
            "whole-history",
            edited(study_reference, "[-1][1]", ""),
            "The whole history stands beside each rate. Only the loss of its last row was asked for.",
        ),
    ],
)


def _draw_curvature(random: Random) -> Iterator[Case]:
    for size in (2, 3, 5):
        yield {"xs": [round(random.uniform(0.6, 4) * sign, 1) for sign in random.choices((1, 1, -1), k=size)]}
    yield {"xs": [0.2, -0.3, 0.4, 0.1]}  # close together: the bowl is steepest along b


curvature_reference = """
def steepest_curvature(xs):
    n = len(xs)
    ww, wb, bb = 2 * sum(x * x for x in xs) / n, 2 * sum(xs) / n, 2.0
    return (ww + bb) / 2 + math.sqrt(((ww - bb) / 2) ** 2 + wb**2)
"""
eigen = """
def steepest_curvature(xs):
    xs = np.array(xs)
    matrix = [[2 * (xs**2).mean(), 2 * xs.mean()], [2 * xs.mean(), 2.0]]
    return np.linalg.eigvalsh(matrix).max()
"""

CURVATURE = Exercise(
    id="rate-curvature",
    points=2,
    call="steepest_curvature({xs})",
    observe=observe.curvature,
    reference=curvature_reference,
    parts={"the curvature": "the four entries of the matrix, and which of its two eigenvalues is the larger"},
    lesson=[{"xs": [0.0, 1.0, 2.0, 3.0]}],
    draw=_draw_curvature,
    tolerance=ROUNDING,
    variants={
        "eigenvalues": eigen,
        "not symmetric": """
def steepest_curvature(xs):
    mean, square = sum(xs) / len(xs), sum(x**2 for x in xs) / len(xs)
    values, _ = np.linalg.eig(2 * np.array([[square, mean], [mean, 1.0]]))
    return max(values.real)
""",
        "quadratic formula": """
def steepest_curvature(xs):
    X = np.stack([np.array(xs), np.ones(len(xs))], axis=1)
    matrix = 2 * X.T @ X / len(xs)
    trace, determinant = np.trace(matrix), matrix[0, 0] * matrix[1, 1] - matrix[0, 1] ** 2
    return (trace + np.sqrt(trace**2 - 4 * determinant)) / 2
""",
    },
    mistakes=[
        Mistake(
            "flattest",
            edited(eigen, ".max()", ".min()"),
            "This is the smaller eigenvalue, the curvature of the flattest direction. The steepest sets the limit.",
        ),
        Mistake(
            "diagonal",
            "def steepest_curvature(xs):\n    return max(2 * sum(x * x for x in xs) / len(xs), 2.0)\n",
            "This is the larger entry on the diagonal: the curvature along w or b alone. The steepest direction "
            "lies between the axes, and is steeper.",
        ),
        Mistake(
            "factor-lost",
            "def steepest_curvature(xs):\n    xs = np.array(xs)\n"
            "    return np.linalg.eigvalsh([[(xs**2).mean(), xs.mean()], [xs.mean(), 1.0]]).max()\n",
            "The factor 2 of the square is lost: the second derivative of w² is 2.",
        ),
        Mistake(
            "summed",
            "def steepest_curvature(xs):\n    xs, n = np.array(xs), len(xs)\n"
            "    return np.linalg.eigvalsh([[2 * (xs**2).sum(), 2 * xs.sum()], [2 * xs.sum(), 2.0 * n]]).max()\n",
            "These are the curvatures of the sum of the squares. The loss is their mean: divide by the number of points.",
        ),
        Mistake(
            "trace",
            "def steepest_curvature(xs):\n    return 2 * sum(x * x for x in xs) / len(xs) + 2.0\n",
            "This is the sum of both eigenvalues (the matrix's trace). Asked for is the larger one.",
        ),
        Mistake(
            "square-of-mean",
            edited(eigen, "2 * (xs**2).mean()", "2 * xs.mean() ** 2"),
            "The first entry needs the mean of the squares. This is the square of the mean, which is smaller.",
        ),
        Mistake(
            "corners",
            edited(eigen, "2 * xs.mean()], [2 * xs.mean(), 2.0]", "xs.mean()], [xs.mean(), 2.0]"),
            "The two equal entries of the matrix lack their factor 2: each is twice the mean of the xs.",
        ),
        Mistake(
            "both",
            edited(eigen, ".max()", ""),
            "Both eigenvalues come back. Asked for is one number, the larger of the two.",
        ),
        Mistake(
            "constant",
            "def steepest_curvature(xs):\n    return (9 + math.sqrt(61)) / 2\n",
            "This is the curvature for the points 0, 1, 2 and 3 only. Compute the matrix from the argument `xs`.",
        ),
        Mistake(
            "determinant",
            "def steepest_curvature(xs):\n    xs = np.array(xs)\n"
            "    return 4 * (xs**2).mean() - 4 * xs.mean() ** 2\n",
            "This is the product of both eigenvalues (the matrix's determinant). Asked for is the larger one.",
        ),
    ],
)

LIMIT = Exercise(
    id="rate-limit",
    points=1,
    call="largest_stable_rate({curvature})",
    observe=observe.limit,
    reference="\ndef largest_stable_rate(curvature):\n    return 2 / curvature\n",
    parts={"the limit": "the rate at which the factor 1 - rate * curvature reaches -1"},
    lesson=[{"curvature": 40}, {"curvature": 8.405}],
    draw=lambda random: [{"curvature": round(random.uniform(0.3, 60), 2)} for _ in range(4)],
    tolerance=ROUNDING,
    variants={
        "product": "def largest_stable_rate(curvature):\n    return 2.0 * curvature**-1\n",
        "half": "def largest_stable_rate(curvature):\n    half = curvature / 2\n    return 1 / half\n",
        "solved": "def largest_stable_rate(curvature):\n    factor = -1\n    return (1 - factor) / curvature\n",
    },
    mistakes=[
        Mistake(
            "one-over",
            "def largest_stable_rate(curvature):\n    return 1 / curvature\n",
            "At 1 / curvature the factor is 0: the bottom is reached in one step. There is as much room again before "
            "the factor reaches -1.",
        ),
        Mistake(
            "upside-down",
            "def largest_stable_rate(curvature):\n    return curvature / 2\n",
            "The fraction is upside down: the more curved the bowl, the smaller the rate has to be.",
        ),
        Mistake(
            "product",
            "def largest_stable_rate(curvature):\n    return 2 * curvature\n",
            "The curvature is multiplied. Rate times curvature must stay below 2, so divide by it.",
        ),
        Mistake(
            "square-root",
            "def largest_stable_rate(curvature):\n    return (2 / curvature) ** 0.5\n",
            "There is no square root: the factor of one step is 1 - rate * curvature.",
        ),
        Mistake(
            "whole-number",
            "def largest_stable_rate(curvature):\n    return 2 // curvature\n",
            "The result is rounded down to a whole number: `//` does that. A single `/` divides exactly.",
        ),
        Mistake(
            "rounded",
            "def largest_stable_rate(curvature):\n    return round(2 / curvature, 3)\n",
            "The limit is rounded. Near the edge the digits that are lost decide, so keep them all.",
        ),
        Mistake(
            "constant",
            "def largest_stable_rate(curvature):\n    return 0.05\n",
            "This is the limit for the curvature 40 only. Use the argument.",
        ),
    ],
)


def _draw_edge(random: Random) -> Iterator[Case]:
    # Limits of a half and more, and of a fifth and less: no single one is right for all.
    for near, scale in ((0.995, 1), (1.005, 10), (0.2, 10), (1.7, 1), (0.6, 1), (3.0, 10)):
        curvature = round(scale * random.uniform(1, 4), 2)
        yield {"learning_rate": near * 2 / curvature, "curvature": curvature}


def _word(case: Case, part: str, value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


edge_reference = """
def behaviour(learning_rate, curvature):
    return "converges" if abs(1 - learning_rate * curvature) < 1 else "diverges"
"""

EDGE = Exercise(
    id="rate-edge",
    points=2,
    call="behaviour({learning_rate:.6g}, {curvature:g})",
    observe=observe.edge,
    reference=edge_reference,
    parts={"the word": "the size of the factor 1 - rate * curvature, of either sign"},
    lesson=[{"learning_rate": rate, "curvature": STEEPEST} for rate in (0.2379, 0.238, 0.24)],
    draw=_draw_edge,
    tolerance=EXACT,
    reading=_word,
    variants={
        "limit": """
def behaviour(learning_rate, curvature):
    if learning_rate < largest_stable_rate(curvature):
        return "converges"
    return "diverges"
""",
        "product": """
def behaviour(learning_rate, curvature):
    words = ["diverges", "converges"]
    return words[learning_rate * curvature < 2]
""",
        "steps": """
def behaviour(learning_rate, curvature):
    distance = 1.0
    for _ in range(50):
        distance -= learning_rate * curvature * distance
    return "diverges" if abs(distance) > 1 else "converges"
""",
    },
    mistakes=[
        Mistake(
            "one-over",
            'def behaviour(learning_rate, curvature):\n    return "converges" if learning_rate * curvature < 1 else "diverges"\n',
            "Between 1 / curvature and 2 / curvature every step goes past the bottom, but lands nearer to it: that "
            "still converges.",
        ),
        Mistake(
            "sign-of-factor",
            'def behaviour(learning_rate, curvature):\n    return "converges" if 1 - learning_rate * curvature < 1 else "diverges"\n',
            "Your function calls every rate convergent. If it asks whether the factor is below 1: -3 is that as well. "
            "What counts is the factor's size, without its sign.",
        ),
        Mistake(
            "always-diverges",
            'def behaviour(learning_rate, curvature):\n    return "converges" if 1 - learning_rate * curvature > 1 else "diverges"\n',
            "Your function calls every rate divergent. For a positive rate the factor is never above 1; descent "
            "converges while its size, without its sign, is below 1.",
        ),
        Mistake(
            "one-word",
            """
def behaviour(learning_rate, curvature):
    if abs(1 - learning_rate * curvature) < 1:
        return "converges"
""",
            'Where descent diverges, nothing comes back. The other case needs its own line: return "diverges".',
        ),
        Mistake(
            "swapped",
            'def behaviour(learning_rate, curvature):\n    return "diverges" if learning_rate * curvature < 2 else "converges"\n',
            "The two words have changed places: it is the small rates that converge.",
        ),
        Mistake(
            "fixed-limit",
            'def behaviour(learning_rate, curvature):\n    return "converges" if learning_rate < 0.238 else "diverges"\n',
            "The limit is that of one problem, 0.238. It depends on the curvature, which is an argument.",
        ),
        Mistake(
            "rounded",
            'def behaviour(learning_rate, curvature):\n    return "converges" if learning_rate <= round(2 / curvature, 3) else "diverges"\n',
            "The limit is rounded, and near the edge the rounding decides. For the lesson's points it is "
            "0.23795, and 0.238 lies beyond it.",
        ),
        Mistake(
            "true-false",
            "def behaviour(learning_rate, curvature):\n    return learning_rate * curvature < 2\n",
            'True or False comes back. Asked for is one of the words "converges" and "diverges".',
        ),
    ],
)

NOTEBOOK = Notebook(
    "08-learning-rate",
    GIVEN,
    (STUDY, CURVATURE, LIMIT, EDGE),
    (Written("rate-explain", 1),),
)
