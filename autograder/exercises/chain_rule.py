"""The exercises of 02-chain-rule."""

from collections.abc import Iterator
from random import Random

from ..exercise import ROUNDING, Exercise, Mistake, Notebook, Tolerance, edited, no_draw
from ..observe import chain_rule as observe
from ..observe.run import Case

GIVEN = """
import math
a, b, c = 2, -3, 10
"""

BY_HAND = Tolerance(
    1e-11,
    1e-12,
    "a formula rounds by 1e-16 an operation and loses at most three digits in 1 - tanh² here; a "
    "difference quotient is off by 1e-11 at the best",
)


def _assigned(**numbers: float) -> str:
    """The answer that gives each name its number."""
    return "".join(f"{name} = {number}\n" for name, number in numbers.items())


FORWARD = Exercise(
    id="chain-forward",
    points=1,
    call="",
    observe=observe.forward,
    reference=_assigned(d=-6, e=4, f=-8),
    parts={
        "`d`": "the product of a and b, with its sign",
        "`e`": "the sum of d and c",
        "`f`": "the last step: e times -2",
    },
    lesson=[{}],
    draw=no_draw,
    tolerance=ROUNDING,
    variants={
        "by the formulas": "d = a * b\ne = d + c\nf = e * (-2)\n",
        "floats": _assigned(d=-6.0, e=4.0, f=-8.0),
        "at once": "d, e, f = a * b, a * b + c, (a * b + c) * -2\n",
    },
    mistakes=[
        Mistake(
            "no-brackets",
            _assigned(d=-6, e=4, f=-26),
            "In `f` only c is multiplied by -2, as if the brackets were not there. The whole of e is multiplied.",
        ),
        Mistake(
            "sign",
            _assigned(d=6, e=16, f=-32),
            "The minus of b is lost: 2 times -3 is negative. The two later steps are right for your d.",
        ),
        Mistake(
            "sum-for-product",
            _assigned(d=-1, e=9, f=-18),
            "d is the product a × b; yours is the sum of the two. The later steps are right for your d.",
        ),
        Mistake("last-sign", _assigned(d=-6, e=4, f=8), "The last factor is -2, not 2: mind its minus."),
        Mistake(
            "subtracted",
            _assigned(d=-6, e=4, f=2),
            "The last step multiplies by -2; yours subtracts 2. In Python it is `e * (-2)`.",
        ),
    ],
    asks="values",
)

RATES = Exercise(
    id="chain-rates",
    points=1,
    call="",
    observe=observe.rates,
    reference=_assigned(dz_dx=6),
    parts={"`dz_dx`": "the formula of the chain rule: what is done with the two rates?"},
    lesson=[{}],
    draw=no_draw,
    tolerance=ROUNDING,
    variants={"by the rates": "dy_dx, dz_dy = 3, 2\ndz_dx = dz_dy * dy_dx\n", "float": _assigned(dz_dx=6.0)},
    mistakes=[
        Mistake(
            "added",
            _assigned(dz_dx=5),
            "The two rates are added. Move x by 1: y moves by 3. How far does z move when y moves by 3?",
        ),
        Mistake(
            "divided",
            _assigned(dz_dx=2 / 3),
            "One rate is divided by the other. Move x by 1 and follow it: first y moves, then z.",
        ),
        Mistake(
            "divided-other-way",
            _assigned(dz_dx=1.5),
            "You divide how fast y moves by how fast z moves. Each of them speeds up the movement: follow x, then y, then z.",
        ),
        Mistake(
            "last-only", _assigned(dz_dx=2), "This is how fast z follows y. But y itself is faster than x."
        ),
        Mistake("first-only", _assigned(dz_dx=3), "This is how fast y follows x. And z is faster than y."),
        Mistake(
            "power",
            _assigned(dz_dx=9),
            "One rate is raised to the power of the other. Move x by 1: y moves by 3. How far does z move then?",
        ),
    ],
    asks="values",
)

LOCAL = Exercise(
    id="chain-local",
    points=2,
    call="",
    observe=observe.local,
    reference=_assigned(df_de=-2, de_dd=1, de_dc=1, dd_da=-3, dd_db=2),
    parts={
        "`df_de`": "f = e × (-2): by how much does f move when e moves by 1?",
        "`de_dd`": "the row of the sum in the table above",
        "`de_dc`": "the row of the sum in the table above",
        "`dd_da`": "the row of the product in the table above: the slope by one factor is the other factor",
        "`dd_db`": "the row of the product in the table above: the slope by one factor is the other factor",
    },
    lesson=[{}],
    draw=no_draw,
    tolerance=ROUNDING,
    variants={
        "by the names": "df_de, de_dd, de_dc, dd_da, dd_db = -2, 1, 1, b, a\n",
        "floats": _assigned(df_de=-2.0, de_dd=1.0, de_dc=1.0, dd_da=-3.0, dd_db=2.0),
    },
    mistakes=[
        Mistake(
            "factor-itself",
            _assigned(df_de=-2, de_dd=1, de_dc=1, dd_da=2, dd_db=-3),
            "In the product each slope is the factor itself. Hold b fixed: d = a × b is then a line in a, "
            "and b is its steepness.",
        ),
        Mistake(
            "sum-as-product",
            _assigned(df_de=-2, de_dd=10, de_dc=-6, dd_da=-3, dd_db=2),
            "The sum is treated like a product. Move d by 1 and hold c fixed: e = d + c moves by 1 as well, whatever c is.",
        ),
        Mistake(
            "all-the-way",
            _assigned(df_de=-2, de_dd=-2, de_dc=-2, dd_da=6, dd_db=-4),
            "These are the derivatives of f, already multiplied along the path: the next exercise wants "
            "them. A local derivative looks at one operation alone.",
        ),
        Mistake(
            "sign",
            _assigned(df_de=2, de_dd=1, de_dc=1, dd_da=3, dd_db=2),
            "The minus signs are lost: the factor of e is -2, and b is -3.",
        ),
        Mistake(
            "node-values",
            _assigned(df_de=4, de_dd=-6, de_dc=10, dd_da=2, dd_db=-3),
            "These are the values of the nodes, not slopes. How far does each result move when that node moves by 1?",
        ),
        Mistake(
            "last-factor",
            _assigned(df_de=4, de_dd=1, de_dc=1, dd_da=-3, dd_db=2),
            "`df_de` is e itself. It is the slope by e that is wanted, and that is the other factor of f = e × (-2).",
        ),
        Mistake(
            "constant-gone",
            _assigned(df_de=-2, de_dd=1, de_dc=0, dd_da=-3, dd_db=2),
            "`de_dc` is 0, as if c did not count. c is an input like the others: when it moves by 1, so does e.",
        ),
    ],
    asks="values",
)

BACKWARD = Exercise(
    id="chain-backward",
    points=3,
    call="",
    observe=observe.backward,
    reference=_assigned(df_dd=-2, df_dc=-2, df_da=6, df_db=-4),
    parts={
        "`df_dd`": "the derivative of f by e, times the local derivative of e by d",
        "`df_dc`": "the derivative of f by e, times the local derivative of e by c",
        "`df_da`": "the derivative of f by d, times the local derivative of d by a",
        "`df_db`": "the derivative of f by d, times the local derivative of d by b",
    },
    lesson=[{}],
    draw=no_draw,
    tolerance=ROUNDING,
    variants={
        "step by step": """
df_dd = df_de * de_dd
df_dc = df_de * de_dc
df_da = df_dd * dd_da
df_db = df_dd * dd_db
""",
        "by the formulas": "df_dd, df_dc = -2, -2\ndf_da, df_db = -2 * b, -2 * a\n",
    },
    mistakes=[
        Mistake(
            "local-only",
            _assigned(df_dd=1, df_dc=1, df_da=-3, df_db=2),
            "These are the local derivatives. Multiply each by what has arrived from f at the node that it feeds.",
        ),
        Mistake(
            "added",
            _assigned(df_dd=-1, df_dc=-1, df_da=-4, df_db=1),
            "The derivatives along a path are added here. Rates multiply.",
        ),
        Mistake(
            "factor-itself",
            _assigned(df_dd=-2, df_dc=-2, df_da=-4, df_db=6),
            "a and b are mixed up: the slope of the product by a is b, and by b it is a.",
        ),
        Mistake(
            "sign",
            _assigned(df_dd=2, df_dc=2, df_da=-6, df_db=4),
            "Every sign is turned round: the walk begins with df/de = -2, and its minus goes along to every input.",
        ),
        Mistake(
            "skipped",
            _assigned(df_dd=-2, df_dc=-2, df_da=-3, df_db=2),
            "The last two are the local derivatives of d alone. Multiply them by df/dd, which has come down from f.",
        ),
        Mistake(
            "twice",
            _assigned(df_dd=-2, df_dc=-2, df_da=-12, df_db=8),
            "On the way to a and b the factor df/de is used twice: df/dd holds it already.",
        ),
        Mistake(
            "sum-as-product",
            _assigned(df_dd=-20, df_dc=12, df_da=60, df_db=-40),
            "The sum e = d + c is treated like a product: its local derivatives are 1 and 1.",
        ),
    ],
    asks="values",
)

reuse_reference = """
def d_reused(x):
    return 2 * x + 2
"""

REUSE = Exercise(
    id="chain-reuse",
    points=2,
    call="d_reused({x:g})",
    observe=observe.reuse,
    reference=reuse_reference,
    parts={"the derivative": "the places where x is used: one contribution from each, all added"},
    lesson=[{"x": 3}, {"x": -1}, {"x": 0}],
    draw=lambda random: [
        {"x": round(sign * random.uniform(1.5, 9), 2)} for sign in (1, -1, random.choice([-1, 1]))
    ],
    tolerance=BY_HAND,
    variants={
        "contributions": """
def d_reused(x):
    contributions = [x, x, 2]
    return sum(contributions)
""",
        "walk backwards": """
def d_reused(x):
    d_square, d_double = 1, 1
    slope = 0
    slope += d_square * x
    slope += d_square * x
    slope += d_double * 2
    return slope
""",
        "factored": "def d_reused(x):\n    return (x + 1) * 2.0\n",
        "uses moved one at a time": """
def d_reused(x):
    def y(u, v, w):
        return u * v + 2 * w
    uses = [x, x, x]
    return sum(y(*uses[:i], x + 1, *uses[i + 1:]) - y(*uses) for i in range(3))
""",
    },
    mistakes=[
        Mistake(
            "square-only",
            edited(reuse_reference, "2 * x + 2", "2 * x"),
            "The contribution of 2x is missing: x is used there, too. Each use adds its share.",
        ),
        Mistake(
            "one-factor",
            edited(reuse_reference, "2 * x + 2", "x + 2"),
            "In x × x only one of the two factors is counted. x stands there twice, and both uses contribute.",
        ),
        Mistake(
            "last-use",
            edited(reuse_reference, "2 * x + 2", "2"),
            "Only the last use is left, as if each contribution took the place of the one before. Add them.",
        ),
        Mistake(
            "multiplied",
            edited(reuse_reference, "2 * x + 2", "2 * x * 2"),
            "This is 4x: either the contributions are multiplied, or 2x contributes its value where it "
            "should give its slope, which is 2 wherever x is. Rates multiply along one path; where several "
            "paths meet, their contributions are added.",
        ),
        Mistake(
            "the-value",
            edited(reuse_reference, "2 * x + 2", "x * x + 2 * x"),
            "This is the value of x × x + 2x itself. Its slope is wanted.",
        ),
        Mistake(
            "at-three",
            edited(reuse_reference, "2 * x + 2", "8"),
            "This is the slope at 3. The function has to work for every x, so its result depends on x.",
        ),
        Mistake(
            "estimate",
            """
def d_reused(x):
    def y(x):
        return x * x + 2 * x
    return (y(x + 1e-6) - y(x)) / 1e-6
""",
            "This is a quotient with a small step, and off by about that step. Here the exact slope is "
            "wanted: add up the contributions of the uses of x.",
        ),
    ],
)

TWO_USES = Exercise(
    id="chain-two-uses",
    points=1,
    call="",
    observe=observe.two_uses,
    reference=_assigned(d_output=7),
    parts={"`d_output`": "the two places where u is used: what each contributes at u = 2, and their sum"},
    lesson=[{}],
    draw=no_draw,
    tolerance=ROUNDING,
    variants={"sum": "u = 2\nd_output = 3 + (u + u)\n", "float": _assigned(d_output=7.0)},
    mistakes=[
        Mistake(
            "first-use",
            _assigned(d_output=3),
            "This is the contribution through g. The one through h is missing.",
        ),
        Mistake(
            "second-use",
            _assigned(d_output=4),
            "This is the contribution through h. The one through g is missing.",
        ),
        Mistake(
            "multiplied",
            _assigned(d_output=12),
            "The two contributions are multiplied. They come by different paths, so they are added.",
        ),
        Mistake(
            "one-factor",
            _assigned(d_output=5),
            "In h = u × u one of the two factors is forgotten: u is used twice there.",
        ),
        Mistake(
            "the-value", _assigned(d_output=10), "This is the output itself at u = 2. Its slope is wanted."
        ),
        Mistake(
            "values-as-slopes",
            _assigned(d_output=8),
            "3u and 2u are added. But the slope of g = 3u is 3 alone, wherever u is.",
        ),
    ],
    asks="values",
)


def _draw_two_layer(random: Random) -> Iterator[Case]:
    for signs in ((1, -1, 1), (-1, 1, 1), (1, 1, -1), (-1, -1, -1)):
        w1, w2, x = (round(sign * random.uniform(0.3, 1.6), 1) for sign in signs)
        yield {"w1": w1, "w2": w2, "x": x if abs(x) != abs(w1) else round(1.25 * x, 2)}


two_layer_reference = """
import math

def two_layer_gradient(w1, w2, x):
    hidden = math.tanh(w1 * x)
    outer = 1 - math.tanh(w2 * hidden) ** 2
    inner = outer * w2 * (1 - hidden ** 2)
    return [inner * x, outer * hidden, inner * w1]
"""

TWO_LAYER = Exercise(
    id="chain-two-layer",
    points=2,
    call="two_layer_gradient({w1:g}, {w2:g}, {x:g})",
    observe=observe.two_layer,
    reference=two_layer_reference,
    parts={
        "the derivative by w1": "the path from the output over the outer tanh, w2, the inner tanh and x to w1",
        "the derivative by w2": "the path from the output over the outer tanh to w2: what is w2 multiplied by?",
        "the derivative by x": "the path to x: the same as the one to w1, but for its last factor",
    },
    lesson=[
        {"w1": 0.5, "w2": -1.5, "x": 2},
        {"w1": 0.8, "w2": -0.5, "x": 0},  # nothing is hidden: w1 and w2 do not matter
        {"w1": 0, "w2": 1.5, "x": 0.7},
        {"w1": 1.2, "w2": 0, "x": -0.5},
    ],
    draw=_draw_two_layer,
    tolerance=BY_HAND,
    variants={
        "walk backwards": """
def two_layer_gradient(w1, w2, x):
    p = w1 * x
    h = math.tanh(p)
    q = w2 * h
    y = math.tanh(q)
    dy_dq = 1 - y * y
    dy_dw2 = dy_dq * h
    dy_dh = dy_dq * w2
    dy_dp = dy_dh * (1 - h * h)
    return dy_dp * x, dy_dw2, dy_dp * w1
""",
        "array": """
import numpy as np

def two_layer_gradient(w1, w2, x):
    hidden = np.tanh(w1 * x)
    y = np.tanh(w2 * hidden)
    slope = w2 * (1 - hidden**2)
    return (1 - y**2) * np.array([slope * x, hidden, slope * w1])
""",
        "hyperbolic cosine": """
def two_layer_gradient(w1, w2, x):
    def d_tanh(p):
        return 1 / math.cosh(p) ** 2
    hidden = math.tanh(w1 * x)
    outer, inner = d_tanh(w2 * hidden), d_tanh(w1 * x)
    return [outer * w2 * inner * x, outer * hidden, outer * w2 * inner * w1]
""",
        "forward, one input at a time": """
def two_layer_gradient(w1, w2, x):
    slopes = []
    for dw1, dw2, dx in ((1, 0, 0), (0, 1, 0), (0, 0, 1)):
        p, dp = w1 * x, dw1 * x + w1 * dx
        h = math.tanh(p)
        dh = (1 - h**2) * dp
        q, dq = w2 * h, dw2 * h + w2 * dh
        slopes.append((1 - math.tanh(q) ** 2) * dq)
    return slopes
""",
    },
    mistakes=[
        Mistake(
            "no-inner-slope",
            edited(two_layer_reference, " * (1 - hidden ** 2)", ""),
            "On the way to w1 and x the inner tanh is passed without its local derivative, 1 minus the "
            "square of the hidden value.",
        ),
        Mistake(
            "no-outer-slope",
            edited(two_layer_reference, "1 - math.tanh(w2 * hidden) ** 2", "1"),
            "The walk begins one step too late: the outer tanh has a local derivative, too, and every "
            "one of the three paths passes through it.",
        ),
        Mistake(
            "not-squared",
            edited(two_layer_reference, "hidden) ** 2", "hidden)").replace("hidden ** 2", "hidden"),
            "The local derivative of tanh is 1 minus the square of its result; yours forgets the square.",
        ),
        Mistake(
            "input-for-result",
            edited(two_layer_reference, "math.tanh(w2 * hidden) ** 2", "(w2 * hidden) ** 2").replace(
                "hidden ** 2", "(w1 * x) ** 2"
            ),
            "You square what goes into tanh. The local derivative is 1 minus the square of what comes out of it.",
        ),
        Mistake(
            "tanh-of-tanh",
            edited(two_layer_reference, "1 - hidden ** 2", "1 - math.tanh(hidden) ** 2"),
            "Inside, tanh is taken once too often: `hidden` is the result of the inner tanh already, so its "
            "square is what is subtracted from 1.",
        ),
        Mistake(
            "order",
            edited(two_layer_reference, "[inner * x, outer * hidden,", "[outer * hidden, inner * x,"),
            "The first two numbers have changed places: the order is w1, w2, x.",
        ),
        Mistake(
            "w1-for-x",
            edited(
                two_layer_reference,
                "[inner * x, outer * hidden, inner * w1]",
                "[inner * w1, outer * hidden, inner * x]",
            ),
            "At the product w1 × x the two slopes are exchanged: by w1 it is x, and by x it is w1.",
        ),
        Mistake(
            "w2-by-w2",
            edited(two_layer_reference, "outer * hidden, ", "outer * w2, "),
            "For w2 the last factor is w2 itself. In a product the slope by one factor is the other one: "
            "what is w2 multiplied by?",
        ),
        Mistake(
            "no-w2",
            edited(two_layer_reference, "outer * w2 * (", "outer * ("),
            "On the way to w1 and x the product with w2 is left out: its local derivative by the hidden value is w2.",
        ),
        Mistake(
            "w2-by-x",
            edited(two_layer_reference, "outer * hidden, ", "outer * x, "),
            "w2 is multiplied by the hidden value, tanh(w1 × x), and not by x: that is its last factor.",
        ),
        Mistake(
            "estimate",
            """
def two_layer_gradient(w1, w2, x):
    def y(w1, w2, x):
        return math.tanh(w2 * math.tanh(w1 * x))
    h = 1e-6
    start = y(w1, w2, x)
    return [(y(w1 + h, w2, x) - start) / h, (y(w1, w2 + h, x) - start) / h, (y(w1, w2, x + h) - start) / h]
""",
            "These are difference quotients, which are off by about the step. They are the check; the "
            "exact derivatives come from the chain rule.",
        ),
    ],
)

NOTEBOOK = Notebook("02-chain-rule", GIVEN, (FORWARD, RATES, LOCAL, BACKWARD, REUSE, TWO_USES, TWO_LAYER))
