"""The exercises of 06-matrix-product."""

from collections.abc import Iterator
from random import Random
from typing import Any

from ..exercise import EXACT, Exercise, Mistake, Notebook, Tolerance, edited, no_draw
from ..observe import matrix_product as observe
from ..observe.run import Case

GIVEN = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.standard_normal((4, 3))
W = rng.standard_normal((3, 2))
T = rng.standard_normal((4, 2))

def loss(W):
    return 0.5 * ((X @ W - T) ** 2).sum()
"""


def _drawn(random: Random, *shape: int) -> Any:
    """Numbers with one decimal, none near 0, nested to `shape`."""
    if not shape:
        return random.choice([-1, 1]) * random.randint(5, 30) / 10
    return [_drawn(random, *shape[1:]) for _ in range(shape[0])]


def _sizes(random: Random) -> tuple[int, int, int]:
    """Rows, inner size and columns: three different numbers above 1."""
    n, d, k = random.sample([2, 3, 4, 5], 3)
    return n, d, k


def _draw_shapes(random: Random) -> Iterator[Case]:
    for one in (None, 0, 2):  # a single row, a single column
        sizes = random.sample(range(2, 200), 3)
        if one is not None:
            sizes[one] = 1
        n, d, k = sizes
        yield {"x_shape": [n, d], "w_shape": [d, k]}


shapes_reference = """
def product_shapes(x_shape, w_shape):
    return (x_shape[0], w_shape[1]), w_shape, x_shape
"""

SHAPES = Exercise(
    id="matrix-shapes",
    points=2,
    call=lambda case: f"product_shapes({tuple(case['x_shape'])}, {tuple(case['w_shape'])})",
    observe=observe.shapes,
    reference=shapes_reference,
    parts={
        "the shape of Y": "one row for each row of X, one column for each column of W",
        "the shape of dW": "the rule of thumb: dW has one entry for each entry of W",
        "the shape of dX": "the rule of thumb: dX has one entry for each entry of X",
    },
    lesson=[{"x_shape": [32, 128], "w_shape": [128, 512]}],
    draw=_draw_shapes,
    tolerance=EXACT,
    variants={
        "named sizes": """
def product_shapes(x_shape, w_shape):
    n, d = x_shape
    d, k = w_shape
    return [(n, k), (d, k), (n, d)]
""",
        "by a product": """
def product_shapes(x_shape, w_shape):
    X, W = np.zeros(x_shape), np.zeros(w_shape)
    return (X @ W).shape, W.shape, X.shape
""",
        "lists": """
def product_shapes(x_shape, w_shape):
    y_shape = [x_shape[0]] + [w_shape[-1]]
    return y_shape, list(w_shape), list(x_shape)
""",
        "by the gradients": """
def product_shapes(x_shape, w_shape):
    X, W = np.ones(x_shape), np.ones(w_shape)
    dY = X @ W
    return np.array([dY.shape, (X.T @ dY).shape, (dY @ W.T).shape])
""",
    },
    mistakes=[
        Mistake(
            "order",
            edited(shapes_reference, "w_shape, x_shape\n", "x_shape, w_shape\n"),
            "The shapes of the two gradients have changed places: the order is Y, dW, dX.",
        ),
        Mistake(
            "inner",
            edited(shapes_reference, "(x_shape[0], w_shape[1])", "(x_shape[1], w_shape[0])"),
            "For Y you took the two inner sizes. They are used up by the product: the outer two remain.",
        ),
        Mistake(
            "turned",
            edited(shapes_reference, "(x_shape[0], w_shape[1])", "(w_shape[1], x_shape[0])"),
            "The shape of Y is the wrong way round: rows come first, and they come from X.",
        ),
        Mistake(
            "gradients-turned",
            edited(shapes_reference, "w_shape, x_shape\n", "w_shape[::-1], x_shape[::-1]\n"),
            "The gradients have the shapes of the transposed matrices. Each gradient has just the shape of "
            "the thing that it belongs to.",
        ),
        Mistake(
            "all-like-y",
            """
def product_shapes(x_shape, w_shape):
    y_shape = (x_shape[0], w_shape[1])
    return y_shape, y_shape, y_shape
""",
            "You gave the gradients the shape of Y. That is the shape of dY; dW and dX have the shapes of W and X.",
        ),
        Mistake(
            "like-x",
            edited(shapes_reference, "(x_shape[0], w_shape[1])", "x_shape"),
            "You gave Y the shape of X. It has the rows of X, but as many columns as W.",
        ),
    ],
)


def _draw_factors(names: tuple[str, str], random: Random) -> Iterator[Case]:
    """Pairs for a gradient: ("X", "dY") or ("dY", "W"); one of a single column, one of a single row."""
    for one in (None, None, 2, 0):
        sizes = list(_sizes(random))
        if one is not None:
            sizes[one] = 1
        n, d, k = sizes
        shapes = {"X": (n, d), "dY": (n, k), "W": (d, k)}
        yield {name: _drawn(random, *shapes[name]) for name in names}


SUMS = Tolerance(
    1e-9, 1e-11, "a sum of a few products in another order moves the last digits of a double only"
)

dw_reference = """
def weight_gradient(X, dY):
    return np.einsum("ij,il->jl", X, dY)
"""

DW = Exercise(
    id="matrix-dw",
    points=2,
    call=lambda case: f"weight_gradient(X, dY) with X = {case['X']}, dY = {case['dY']}",
    observe=observe.weight_gradient,
    reference=dw_reference,
    parts={
        "dW": "the shapes: which of the two has to be turned, so that (d, k) comes out? Entry [j, l] is X[i, j] "
        "times dY[i, l], summed over the rows i"
    },
    lesson=[{"X": [[1, 2, 3], [4, 5, 6]], "dY": [[1, 0], [-1, 2]]}],
    draw=lambda random: _draw_factors(("X", "dY"), random),
    tolerance=SUMS,
    variants={
        "product": "def weight_gradient(X, dY):\n    return X.T @ dY\n",
        "loops": """
def weight_gradient(X, dY):
    dW = np.zeros((X.shape[1], dY.shape[1]))
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            for l in range(dY.shape[1]):
                dW[j, l] += X[i, j] * dY[i, l]
    return dW
""",
        "a sum over rows": """
def weight_gradient(X, dY):
    return sum(np.outer(x, dy) for x, dy in zip(X, dY))
""",
        "lists": """
def weight_gradient(X, dY):
    columns = list(zip(*X))
    slopes = list(zip(*dY))
    return [[sum(x * dy for x, dy in zip(c, s)) for s in slopes] for c in columns]
""",
        "transposed twice": "def weight_gradient(X, dY):\n    return np.transpose(np.dot(dY.T, X))\n",
    },
    mistakes=[
        Mistake(
            "turned",
            "def weight_gradient(X, dY):\n    return dY.T @ X\n",
            "The numbers are right, but this is dW transposed, of shape (k, d). W has the shape (d, k).",
        ),
        Mistake(
            "reshape",
            "def weight_gradient(X, dY):\n    return X.reshape(X.shape[::-1]) @ dY\n",
            "`reshape` only breaks the same row of numbers into other lines. To turn rows into columns, "
            "transpose: `X.T`.",
        ),
        Mistake(
            "mean",
            "def weight_gradient(X, dY):\n    return X.T @ dY / len(X)\n",
            "You divide by the number of rows. Every use of a weight contributes, and contributions are "
            "added. If the loss is a mean, its division is in dY already.",
        ),
        Mistake(
            "last-row",
            """
def weight_gradient(X, dY):
    for x, dy in zip(X, dY):
        dW = np.outer(x, dy)
    return dW
""",
            "Each row takes the place of the one before, so only the last is left. Every row uses W: add "
            "the contributions of all of them.",
        ),
        Mistake(
            "first-row",
            """
def weight_gradient(X, dY):
    for x, dy in zip(X, dY):
        return np.outer(x, dy)
""",
            "Only the first row contributes: is the `return` inside the loop? Add the contributions of all rows.",
        ),
        Mistake(
            "no-upstream",
            "def weight_gradient(X, dY):\n    return X.T @ np.ones_like(dY)\n",
            "dY is not used, only its shape. The local derivative X has to be multiplied by what arrives "
            "from the loss, dY.",
        ),
        Mistake(
            "sign",
            "def weight_gradient(X, dY):\n    return -X.T @ dY\n",
            "The sign is turned round. The minus belongs to gradient descent, not to the gradient.",
        ),
        Mistake(
            "squared-error-factor",
            "def weight_gradient(X, dY):\n    return 2 * X.T @ dY\n",
            "Twice too large. A factor 2 from a square is in dY already, if there is one: the product adds none.",
        ),
        Mistake(
            "rows-summed-first",
            """
def weight_gradient(X, dY):
    return np.outer(X.sum(axis=0), dY.sum(axis=0))
""",
            "You sum the rows of X and of dY first and multiply then. That mixes different rows: multiply "
            "within each row, then add.",
        ),
    ],
)

dx_reference = """
def input_gradient(dY, W):
    return np.einsum("il,jl->ij", dY, W)
"""

DX = Exercise(
    id="matrix-dx",
    points=2,
    call=lambda case: f"input_gradient(dY, W) with dY = {case['dY']}, W = {case['W']}",
    observe=observe.input_gradient,
    reference=dx_reference,
    parts={
        "dX": "the shapes: which of the two has to be turned, so that (n, d) comes out? Entry [i, j] is dY[i, l] "
        "times W[j, l], summed over the columns l"
    },
    lesson=[{"dY": [[1, 0], [-1, 2]], "W": [[1, 0], [2, 1], [0, 3]]}],
    draw=lambda random: _draw_factors(("dY", "W"), random),
    tolerance=SUMS,
    variants={
        "product": "def input_gradient(dY, W):\n    return dY @ W.T\n",
        "loops": """
def input_gradient(dY, W):
    dX = np.zeros((len(dY), len(W)))
    for i, dy in enumerate(dY):
        for j, w in enumerate(W):
            for l in range(len(w)):
                dX[i, j] += dy[l] * w[l]
    return dX
""",
        "rows with rows": """
def input_gradient(dY, W):
    return [[float(dy @ w) for w in W] for dy in dY]
""",
        "by the other gradient": """
def input_gradient(dY, W):
    return weight_gradient(W.T, dY.T).T
""",
        "inner": "def input_gradient(dY, W):\n    return np.inner(dY, W)\n",
    },
    mistakes=[
        Mistake(
            "turned",
            "def input_gradient(dY, W):\n    return W @ dY.T\n",
            "The numbers are right, but this is dX transposed, of shape (d, n). X has the shape (n, d).",
        ),
        Mistake(
            "reshape",
            "def input_gradient(dY, W):\n    return dY @ W.reshape(W.shape[::-1])\n",
            "`reshape` only breaks the same row of numbers into other lines. To turn rows into columns, "
            "transpose: `W.T`.",
        ),
        Mistake(
            "no-upstream",
            "def input_gradient(dY, W):\n    return np.ones_like(dY) @ W.T\n",
            "dY is not used, only its shape. The local derivative W has to be multiplied by what arrives "
            "from the loss, dY.",
        ),
        Mistake(
            "last-column",
            """
def input_gradient(dY, W):
    for l in range(W.shape[1]):
        dX = np.outer(dY[:, l], W[:, l])
    return dX
""",
            "Each column takes the place of the one before, so only the last is left. An entry of X feeds a "
            "whole row of Y: add the contributions of all columns.",
        ),
        Mistake(
            "mean",
            "def input_gradient(dY, W):\n    return dY @ W.T / len(dY)\n",
            "You divide by the number of rows. Each row of X feeds its own row of Y, so nothing is averaged "
            "here. If the loss is a mean, its division is in dY already.",
        ),
        Mistake(
            "sign",
            "def input_gradient(dY, W):\n    return -dY @ W.T\n",
            "Every sign is turned round. dX says how the loss rises; going the other way is the business of descent.",
        ),
        Mistake(
            "one-row",
            "def input_gradient(dY, W):\n    return dY.sum(axis=0) @ W.T\n",
            "You add up the rows of dY, so one row is left. Each row of X feeds its own row of Y and keeps "
            "its own gradient.",
        ),
        Mistake(
            "columns-summed-first",
            "def input_gradient(dY, W):\n    return np.outer(dY.sum(axis=1), W.sum(axis=1))\n",
            "You sum the columns of dY and of W first and multiply then. That mixes different columns: "
            "multiply within each column, then add.",
        ),
    ],
)


def _draw_numeric(random: Random) -> Iterator[Case]:
    for shape, h in (((3,), 0.1), ((2, 3), 0.5), ((3, 1), None), ((2, 2, 3), 0.1), ((1, 2, 1, 2), None)):
        yield {"C": _drawn(random, *shape), "W": _drawn(random, *shape), "h": h}


def _numeric_call(case: Case) -> str:
    step = "" if case["h"] is None else f", h={case['h']:g}"
    return (
        f"numeric_gradient(loss, W{step}) with W = np.array({case['W']}) "
        f"and loss(V) = ({case['C']} * V**3).sum() + V.sum()**2"
    )


numeric_reference = """
def numeric_gradient(loss, W, h=1e-6):
    steps = (h * np.eye(W.size)).reshape(-1, *W.shape)
    slopes = [(loss(W + step) - loss(W - step)) / (2 * h) for step in steps]
    return np.reshape(slopes, W.shape)
"""

# The lesson's loops, for an array of any shape: most mistakes are slips in these.
numeric_loop = """
def numeric_gradient(loss, W, h=1e-6):
    gradient = np.zeros(W.shape)
    for index in np.ndindex(*W.shape):
        up, down = W.astype(float), W.astype(float)
        up[index] += h
        down[index] -= h
        gradient[index] = (loss(up) - loss(down)) / (2 * h)
    return gradient
"""

NUMERIC = Exercise(
    id="matrix-numeric",
    points=3,
    call=_numeric_call,
    observe=observe.numeric_gradient,
    reference=numeric_reference,
    parts={
        "the gradient": "the two copies of W, one entry moved up and down by h, the 2 * h below, and the "
        "shape of the result",
        "W afterwards": "what you nudge: it must be a copy of W",
    },
    lesson=[
        {"C": [[1.0, -2.0, 0.5], [2.0, 1.0, -1.0]], "W": [[1.0, 2.0, -1.0], [0.5, -1.5, 3.0]], "h": None},
        {"C": [[2, -1], [1, 3], [-2, 1]], "W": [[1, 2], [-3, 4], [2, -1]], "h": None},  # whole numbers
    ],
    draw=_draw_numeric,
    tolerance=Tolerance(
        1e-8,
        1e-6,
        "with the step 1e-6, a rounding of these losses, which stay below 2,000, is 2e-13 and the "
        "quotient divides it by 2e-6",
    ),
    exact=("W afterwards",),
    conditions=("W afterwards",),
    variants={
        "loop": numeric_loop,
        "flat": """
def numeric_gradient(loss, W, h=1e-6):
    flat = np.array(W, dtype=float).ravel()
    slopes = np.empty(flat.size)
    for i in range(flat.size):
        kept = flat[i]
        flat[i] = kept + h
        above = loss(flat.reshape(W.shape))
        flat[i] = kept - h
        below = loss(flat.reshape(W.shape))
        flat[i] = kept
        slopes[i] = (above - below) / (2 * h)
    return slopes.reshape(W.shape)
""",
        "iterator": """
def numeric_gradient(loss, W, h=1e-6):
    result = np.zeros(W.shape)
    entries = np.nditer(W, flags=["multi_index"])
    for _ in entries:
        step = np.zeros(W.shape)
        step[entries.multi_index] = h
        result[entries.multi_index] = (loss(W + step) - loss(W - step)) / h / 2
    return result
""",
        "recursion": """
def numeric_gradient(loss, W, h=1e-6):
    def slopes(index):
        if len(index) < W.ndim:
            return [slopes((*index, i)) for i in range(W.shape[len(index)])]
        up, down = 1.0 * W, 1.0 * W
        up[index] += h
        down[index] -= h
        return (loss(up) - loss(down)) / (2 * h)
    return slopes(())
""",
    },
    mistakes=[
        Mistake(
            "whole-numbers",
            edited(numeric_loop, "W.astype(float), W.astype(float)", "W.copy(), W.copy()"),
            "Right for decimals, but wrong where W holds whole numbers: the copy is then an array of integers, too, "
            "which drops the fraction of every number written into it, and the nudge with it. Copy with `W.astype(float)`.",
        ),
        Mistake(
            "whole-result",
            edited(numeric_loop, "np.zeros(W.shape)", "np.zeros_like(W)"),
            "Right for decimals, but where W holds whole numbers, `np.zeros_like(W)` makes an array of integers, which "
            "drops the fractions of your slopes. `np.zeros(W.shape)` holds decimals always.",
        ),
        Mistake(
            "no-copy",
            edited(numeric_loop, "W.astype(float), W.astype(float)", "W, W"),
            "`up` and `down` are two names for W itself, so the nudges cancel, and every slope comes out "
            "as 0 or nearly. Each needs a copy of its own.",
        ),
        Mistake(
            "one-copy",
            edited(
                numeric_loop, "up, down = W.astype(float), W.astype(float)", "up = down = W.astype(float)"
            ),
            "`up` and `down` are two names for one copy, so the nudges cancel, and every slope comes out "
            "as 0. Make two copies.",
        ),
        Mistake(
            "changes-w",
            """
def numeric_gradient(loss, W, h=1e-6):
    gradient = np.zeros(W.shape)
    for index in np.ndindex(*W.shape):
        W[index] += h
        above = loss(W)
        W[index] -= 2 * h
        below = loss(W)
        gradient[index] = (above - below) / (2 * h)
    return gradient
""",
            "You nudge W itself and leave it nudged, so whoever called you finds other numbers in it, and "
            "each later entry starts from a W that has moved. Nudge copies.",
        ),
        Mistake(
            "steps-there-and-back",
            """
def numeric_gradient(loss, W, h=1e-6):
    gradient = np.zeros(W.shape)
    for index in np.ndindex(*W.shape):
        W[index] += h
        above = loss(W)
        W[index] -= 2 * h
        below = loss(W)
        W[index] += h
        gradient[index] = (above - below) / (2 * h)
    return gradient
""",
            "You nudge W itself and step back afterwards. An array of whole numbers drops the steps, and with "
            "decimals a step up and a step down do not always cancel to the last digit. Nudge copies.",
        ),
        Mistake(
            "copies-kept",
            edited(
                numeric_loop,
                "    for index in np.ndindex(*W.shape):\n        up, down = W.astype(float), W.astype(float)\n",
                "    up, down = W.astype(float), W.astype(float)\n    for index in np.ndindex(*W.shape):\n",
            ),
            "The two copies are made once, before the loop, so the nudges pile up from entry to entry. Make "
            "fresh copies for each entry, or put the entry back.",
        ),
        Mistake(
            "forward",
            edited(numeric_loop, "(loss(up) - loss(down)) / (2 * h)", "(loss(up) - loss(W)) / h"),
            "This is the forward quotient, which steps to one side. The central difference takes the loss a "
            "step above and a step below, 2h apart.",
        ),
        Mistake(
            "h-for-2h",
            edited(numeric_loop, "(2 * h)", "h"),
            "Twice too large: the two points lie 2h apart, so divide by 2 * h.",
        ),
        Mistake(
            "brackets",
            edited(numeric_loop, "(2 * h)", "2 * h"),
            "Your slopes are tiny: `/ 2 * h` divides by 2 and then multiplies by h. Put 2 * h in brackets.",
        ),
        Mistake(
            "fixed-step",
            edited(numeric_loop, "    gradient = np", "    h = 1e-6\n    gradient = np"),
            "Your step is always 1e-6. Whoever calls you may pass another one: use the argument `h`.",
        ),
        Mistake(
            "sign",
            edited(numeric_loop, "loss(up) - loss(down)", "loss(down) - loss(up)"),
            "The signs are turned round: take the loss above minus the loss below.",
        ),
        Mistake(
            "two-axes",
            edited(
                numeric_loop,
                "    for index in np.ndindex(*W.shape):\n",
                "    rows, columns = W.shape\n    for index in np.ndindex(rows, columns):\n",
            ),
            "This works for two axes only. `np.ndindex(*W.shape)` walks through the places of an array with "
            "any number of axes.",
        ),
        Mistake(
            "all-at-once",
            """
def numeric_gradient(loss, W, h=1e-6):
    return np.full(W.shape, (loss(W + h) - loss(W - h)) / (2 * h))
""",
            "All entries move together, so all get the same slope. Move one entry and hold the others fixed.",
        ),
        Mistake(
            "flat",
            edited(numeric_reference, "np.reshape(slopes, W.shape)", "np.array(slopes)"),
            "The slopes are right, but they come as one flat row. The gradient has the shape of W.",
        ),
    ],
)

ERROR = Exercise(
    id="matrix-error",
    points=1,
    call="",
    observe=observe.error,
    reference="largest_error = 1.872e-9\n",
    parts={
        "`largest_error`": "dY = X @ W - T, the two gradients by your functions, and the largest absolute "
        "difference of their entries; it is positive, and below 1e-8"
    },
    lesson=[{}],
    draw=no_draw,
    tolerance=Tolerance(1e-6, 1e-12, "to recognise a known mistake; `reading` says what is right"),
    reading=lambda case, part, value: type(value) in (int, float) and 0 < value < 1e-8,
    variants={
        "by the functions": """
dW = weight_gradient(X, X @ W - T)
largest_error = np.abs(dW - numeric_gradient(loss, W)).max()
""",
        "by the formulas": """
exact = X.T @ (X @ W - T)
largest_error = 0.0
for i in range(3):
    for j in range(2):
        up, down = W.copy(), W.copy()
        up[i, j] += 1e-6
        down[i, j] -= 1e-6
        largest_error = max(largest_error, abs((loss(up) - loss(down)) / 2e-6 - exact[i, j]))
""",
        "the number": "largest_error = 1.9e-9\n",
    },
    mistakes=[
        Mistake(
            "zero",
            "largest_error = 0.0\n",
            "It comes out as 0. Was a gradient compared with itself, or the result rounded? An estimate "
            "and an exact gradient differ at least in the last digits.",
        ),
        Mistake(
            "no-target",
            "largest_error = np.abs(weight_gradient(X, X @ W) - numeric_gradient(loss, W)).max()\n",
            "T is left out of dY. The gradient of the loss by Y is Y - T, with Y = X @ W.",
        ),
        Mistake(
            "double",
            "largest_error = np.abs(2 * weight_gradient(X, X @ W - T) - numeric_gradient(loss, W)).max()\n",
            "Your dY is twice too large: the half in front of the square cancels the 2 of its slope. Or was "
            "one of the two gradients not subtracted at all?",
        ),
        Mistake(
            "sign-of-dy",
            "largest_error = np.abs(weight_gradient(X, T - X @ W) - numeric_gradient(loss, W)).max()\n",
            "The sign of dY is turned round: it is Y - T, the output minus the target.",
        ),
        Mistake(
            "all-entries",
            "largest_error = np.abs(weight_gradient(X, X @ W - T) - numeric_gradient(loss, W))\n",
            "These are the errors of all the entries. Take the largest of them: `.max()`.",
        ),
        Mistake(
            "place",
            "largest_error = np.abs(weight_gradient(X, X @ W - T) - numeric_gradient(loss, W)).argmax()\n",
            "`argmax` tells where the largest entry stands. `max` is the entry itself.",
        ),
        Mistake(
            "mean-loss",
            "largest_error = np.abs(weight_gradient(X, (X @ W - T) / len(X)) - numeric_gradient(loss, W)).max()\n",
            "Your dY is divided by the number of rows. The loss here is a sum and no mean, so dY is Y - T as it is.",
        ),
    ],
    asks="values",
)


def _draw_objects(random: Random) -> Iterator[Case]:
    for low, high in ((2, 12), (20, 400), (1000, 90000)):
        n, d, k = random.sample(range(low, high), 3)
        yield {"n": n, "d": d, "k": k}


objects_reference = """
def scalar_products(n, d, k):
    return n * d * k
"""

OBJECTS = Exercise(
    id="matrix-objects",
    points=2,
    call="scalar_products({n}, {d}, {k})",
    observe=observe.objects,
    reference=objects_reference,
    parts={"the count": "how many entries Y has, and how many multiplications each of them needs"},
    lesson=[
        {"n": 300, "d": 300, "k": 300},
        {"n": 2, "d": 3, "k": 2},
        {"n": 1, "d": 5, "k": 1},  # one row times one column: d multiplications
    ],
    draw=_draw_objects,
    tolerance=EXACT,
    variants={
        "entries": """
def scalar_products(n, d, k):
    entries = n * k
    for_each = d
    return entries * for_each
""",
        "math": "import math\n\ndef scalar_products(n, d, k):\n    return math.prod([n, d, k])\n",
        "uses of X": """
def scalar_products(n, d, k):
    entries_of_x = n * d
    uses_of_each = k
    return float(entries_of_x * uses_of_each)
""",
    },
    mistakes=[
        Mistake(
            "entries",
            edited(objects_reference, "n * d * k", "n * k"),
            "This is how many entries Y has. Each of them is a sum of several products: how many?",
        ),
        Mistake(
            "with-additions",
            edited(objects_reference, "n * d * k", "n * k * (2 * d - 1)"),
            "The additions are counted, too. Here only the multiplications are asked for.",
        ),
        Mistake(
            "twice",
            edited(objects_reference, "n * d * k", "2 * n * d * k"),
            "Twice too many: count the multiplications alone, without the additions.",
        ),
        Mistake(
            "additions",
            edited(objects_reference, "n * d * k", "n * k * (d - 1)"),
            "This is the number of additions: a sum of d terms has d - 1 of them. Its terms are products, d in number.",
        ),
        Mistake(
            "inputs",
            edited(objects_reference, "n * d * k", "n * d + d * k"),
            "This is how many numbers X and W hold. But each of them is used several times.",
        ),
        Mistake(
            "every-pair",
            edited(objects_reference, "n * d * k", "(n * d) * (d * k)"),
            "This pairs every entry of X with every entry of W. An entry of X meets one row of W only.",
        ),
        Mistake(
            "cube",
            edited(objects_reference, "n * d * k", "n ** 3"),
            "Right for square matrices only. Let each of the three sizes count once.",
        ),
        Mistake(
            "summed",
            edited(objects_reference, "n * d * k", "n + d + k"),
            "The sizes are added. For each row, each column and each place of the sum there is one "
            "multiplication: that is a product.",
        ),
    ],
)

NOTEBOOK = Notebook("06-matrix-product", GIVEN, (SHAPES, DW, DX, NUMERIC, ERROR, OBJECTS))
