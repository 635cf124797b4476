"""The exercises of 03-value-engine."""

from collections.abc import Iterator
from random import Random
from typing import Any

from ..exercise import EXACT, ROUNDING, Exercise, Mistake, Notebook, Tolerance, edited
from ..observe import value_engine as observe
from ..observe.run import Case

GIVEN = '''
import math

class Value:
    """A number that remembers what it was computed from."""

    def __init__(self, data, parents=(), op=""):
        self.data = float(data)
        self.grad = 0.0
        self.parents = parents
        self.op = op
        self._backward = lambda: None

    def __repr__(self):
        return f"Value(data={self.data:g}, grad={self.grad:g})"
'''

# No two of them, nor their negatives, are equal, and none is 1: numbers that must not be mixed up.
POOL = (0.4, 0.6, 0.7, 0.9, 1.1, 1.3, 1.6, 1.7, 1.9, 2.3, 2.6, 2.9)

GRADIENT, ON_TOP = "the gradient", "the gradient on top of an earlier one"
GRADIENTS, ALL_ON_TOP = "the pair of gradients", "the pair of gradients on top of earlier ones"
VALUE, RECORD = "the value", "the record of its parents"


def _signed(random: Random, count: int) -> list[float]:
    return [random.choice([-1, 1]) * x for x in random.sample(POOL, count)]


def _operation(random: Random, form: str, *, earlier: bool = False, **fixed: Any) -> Case:
    """A case with numbers that all differ; `fixed` says what is not to be drawn."""
    a, b, upstream, a_before, b_before = _signed(random, 5)
    case: dict[str, Any] = {"form": form, "a": a}
    if "b" in form:
        case["b"] = b
    before = {"a": a_before, "b": b_before}
    case["before"] = {name: before[name] if earlier else 0.0 for name in ("a", "b") if name in case}
    return {**case, "upstream": upstream, **fixed}


def _steps(case: Case, last: str = "out._backward()") -> str:
    """The case as the student would type it."""
    names = [name for name in ("a", "b") if name in case]
    lines = [f"{name} = Value({case[name]:g})" for name in names]
    lines += [f"{name}.grad = {case['before'][name]:g}" for name in names if case["before"][name]]
    form = case["form"]
    if "n" in case:
        form = form.replace("n", f"{case['n']:g}")
    return "; ".join([*lines, f"out = {form}", f"out.grad = {case['upstream']:g}", last])


def _steps_of_several(case: Case) -> str:
    """The same where `out` may be made of several nodes."""
    return _steps(case, "then back through all nodes")


LIFT_USUAL = """
def as_value(x):
    if isinstance(x, Value):
        return x
    return Value(x)
"""


def _draw_lift(random: Random) -> Iterator[Case]:
    number, value, later, grad = _signed(random, 4)
    yield {"number": number}
    yield {"number": random.choice([-7, -4, 5, 8])}
    yield {"value": value, "later": [later, grad]}


LIFT = Exercise(
    id="value-lift",
    points=1,
    call=lambda case: (
        f"as_value({case['number']:g})"
        if "number" in case
        else f"x = Value({case['value']:g}); y = as_value(x); x.data, x.grad = {case['later']}; y"
    ),
    observe=observe.lift,
    reference="""
def as_value(x):
    return x if isinstance(x, Value) else Value(x)
""",
    parts={
        "what a number becomes": "the case that x is a number: Value(x)",
        "what a Value becomes": "the case that x is a Value already: it must be that very object",
    },
    lesson=[{"number": 2}, {"number": 0}, {"number": 2.5}, {"value": 3.0, "later": [4.0, 5.0]}],
    draw=_draw_lift,
    tolerance=EXACT,
    conditions=("what a Value becomes",),
    variants={
        "two returns": LIFT_USUAL,
        "turned round": "def as_value(x):\n    return Value(x) if not isinstance(x, Value) else x\n",
        "by type": "def as_value(x):\n    if type(x) is not Value:\n        x = Value(x)\n    return x\n",
        "try": """
def as_value(x):
    try:
        return Value(x)
    except TypeError:
        return x
""",
    },
    mistakes=[
        Mistake(
            "always-new",
            "def as_value(x):\n    return Value(x)\n",
            "A Value cannot be wrapped in a Value: its number is to be a plain one. Ask with isinstance first, "
            "and hand back a Value as it is.",
        ),
        Mistake(
            "copy",
            edited(LIFT_USUAL, "return x\n", "return Value(x.data)\n"),
            "A Value becomes a copy of itself here. Gradient that arrives at the copy never reaches the "
            "original: return the very object x.",
        ),
        Mistake(
            "unchanged",
            "def as_value(x):\n    return x\n",
            "x comes back as it went in, so a number stays a number. Only a Value may pass unchanged.",
        ),
        Mistake(
            "unwrapped",
            "def as_value(x):\n    return x.data if isinstance(x, Value) else x\n",
            "This goes the other way: it takes the number out of a Value. Here a number is to be put into one.",
        ),
        Mistake(
            "condition",
            "def as_value(x):\n    return Value(x) if isinstance(x, Value) else x\n",
            "The two cases have changed places: the number is what has to be wrapped, the Value is what stays.",
        ),
        Mistake(
            "floats-only",
            "def as_value(x):\n    return Value(x) if isinstance(x, float) else x\n",
            "A whole number such as 2 is an int, not a float, and slips through unwrapped. Ask whether x is a "
            "Value; everything else is a number.",
        ),
        Mistake(
            "zero",
            "def as_value(x):\n    return x if isinstance(x, Value) or not x else Value(x)\n",
            "The number 0 stays bare: `not x` is true for it, too. It has to become a Value like any other number.",
        ),
        Mistake(
            "no-return",
            edited(LIFT_USUAL, "    return Value(x)", "    Value(x)"),
            "For a number a Value is made and then dropped: the `return` in front of it is missing.",
        ),
    ],
)


ADD_USUAL = """
def add(self, other):
    other = as_value(other)
    out = Value(self.data + other.data, (self, other), "+")

    def _backward():
        self.grad += out.grad
        other.grad += out.grad

    out._backward = _backward
    return out
"""
STORED = "    out._backward = _backward\n"
ADD_BOTH = "        self.grad += out.grad\n        other.grad += out.grad\n"
ADD_TWICE = "`a + a`, one Value used twice (value and gradient)"
ADD_NUMBER = "`+` with a plain number on one side (value and gradients)"


def _draw_add(random: Random) -> Iterator[Case]:
    yield _operation(random, "a + b", gradient=GRADIENTS)
    yield _operation(random, "a + b", gradient=ALL_ON_TOP, earlier=True)
    yield _operation(random, "a + a", about=ADD_TWICE)
    for form in ("a + n", "n + a"):
        yield _operation(random, form, about=ADD_NUMBER, n=random.choice([-5, -0.5, 3, 4.2]))
    yield _operation(random, "sum([a, b, a])", about=ADD_NUMBER)


ADD = Exercise(
    id="value-add",
    points=2,
    call=lambda case: _steps_of_several(case) if "sum" in case["form"] else _steps(case),
    observe=observe.add,
    reference="""
def add(self, other):
    operands = (self, as_value(other))
    out = Value(operands[0].data + operands[1].data, operands, "+")
    def _backward():
        for one in operands:
            one.grad += out.grad
    out._backward = _backward
    return out
""",
    parts={
        VALUE: "the first argument of Value(...): the sum of the two `data`",
        RECORD: "the second argument of Value(...): the pair (self, other)",
        GRADIENTS: "`_backward`: the local derivative of a sum by each operand, times out.grad",
        ALL_ON_TOP: "the `+=` in `_backward`: what was there before must stay",
        ADD_TWICE: "`_backward` when self and other are one object: both contributions must arrive",
        ADD_NUMBER: "the line that makes a Value of `other`, and the sum that starts with the number 0",
    },
    lesson=[
        {
            "form": "a + b",
            "a": -6.0,
            "b": 10.0,
            "before": {"a": 0.0, "b": 0.0},
            "upstream": -2.0,
            "gradient": GRADIENTS,
        }
    ],
    draw=_draw_add,
    tolerance=ROUNDING,
    variants={
        "as taught": ADD_USUAL,
        "a lambda": """
def add(self, other):
    other = as_value(other)
    out = Value(self.data + other.data, (self, other), "+")
    def give(node):
        node.grad = node.grad + 1.0 * out.grad
    out._backward = lambda: (give(self), give(other))
    return out
""",
        "a list of parents": """
def add(self, other):
    if not isinstance(other, Value):
        other = Value(other)
    out = Value(self.data + other.data)
    out.parents = [self, other]
    def pass_on():
        other.grad += out.grad
        self.grad += out.grad
    out._backward = pass_on
    return out
""",
    },
    mistakes=[
        Mistake(
            "assigned",
            ADD_USUAL.replace("+=", "="),
            "The gradient is assigned with = where it has to be added with +=. A value that is used twice, such as "
            "a in a + a, keeps only its last contribution that way.",
        ),
        Mistake(
            "no-upstream",
            ADD_USUAL.replace("+= out.grad", "+= 1.0"),
            "The local derivatives are 1, but they have to be multiplied by the gradient from above, out.grad. "
            "It is 1 only where out is the end of the computation.",
        ),
        Mistake(
            "not-lifted",
            edited(ADD_USUAL, "    other = as_value(other)\n", ""),
            "`a + 2` fails: the number 2 has no `data`. Make a Value of `other` first, with as_value. The same line "
            "makes sum() work, which starts with the number 0.",
        ),
        Mistake(
            "number-cut-off",
            edited(
                ADD_USUAL,
                "    other = as_value(other)\n",
                "    if not isinstance(other, Value):\n        return Value(self.data + other)\n",
            ),
            "With a plain number, the new Value does not know that it came from self, so no gradient finds the "
            "way back. Turn the number into a Value and go on as with any other.",
        ),
        Mistake(
            "left-only",
            edited(ADD_USUAL, "        other.grad += out.grad\n", ""),
            "Only the left operand is given its gradient. The right one, `other`, depends on the sum just as much.",
        ),
        Mistake(
            "not-stored",
            edited(ADD_USUAL, STORED, ""),
            "No gradient arrives at all. Either `_backward` is never stored in `out._backward`, or the gradients are "
            "added up while the sum is being made, when out.grad is still 0.",
        ),
        Mistake(
            "called",
            edited(ADD_USUAL, STORED, "    out._backward = _backward()\n"),
            "`_backward()` with brackets runs the function at once and stores what it returns, None. Without the "
            "brackets the function itself is stored, to be called later.",
        ),
        Mistake(
            "no-parents",
            edited(ADD_USUAL, ', (self, other), "+"', ""),
            "The sum does not record what it was computed from. Give Value(...) the pair (self, other) as well: "
            "the way back is found by it.",
        ),
        Mistake(
            "one-parent",
            edited(ADD_USUAL, "(self, other), ", "(self,), "),
            "Only self is recorded as a parent. A sum has two: what feeds `other` would never be visited on the way back.",
        ),
        Mistake(
            "a-number",
            "def add(self, other):\n    return self.data + as_value(other).data\n",
            "A plain number comes back, which has no parents and no gradient. Put the sum into a new Value.",
        ),
        Mistake(
            "in-place",
            "def add(self, other):\n    self.data += as_value(other).data\n    return self\n",
            "This changes self instead of making something new: afterwards a itself is the sum. Every operation "
            "makes a new Value, and leaves its operands alone.",
        ),
        Mistake(
            "a-set",
            edited(
                ADD_USUAL, ADD_BOTH, "        for one in {self, other}:\n            one.grad += out.grad\n"
            ),
            "A set holds each object only once, so in a + a the second contribution is lost. Walk over the pair "
            "(self, other) instead.",
        ),
        Mistake(
            "product-rule",
            edited(
                ADD_USUAL,
                ADD_BOTH,
                "        self.grad += other.data * out.grad\n        other.grad += self.data * out.grad\n",
            ),
            "These are the local derivatives of a product. When one operand of a sum rises by h, by how much does "
            "the sum rise?",
        ),
        Mistake(
            "no-return",
            edited(ADD_USUAL, "    return out\n", ""),
            "The new Value is made and then lost: `return out` is missing at the end.",
        ),
    ],
    attach="Value.__add__ = Value.__radd__ = add",
)


MULTIPLY_USUAL = """
def multiply(self, other):
    other = as_value(other)
    out = Value(self.data * other.data, (self, other), "*")

    def _backward():
        self.grad += other.data * out.grad
        other.grad += self.data * out.grad

    out._backward = _backward
    return out
"""
MUL_LEFT = "        self.grad += other.data * out.grad\n"
MUL_RIGHT = "        other.grad += self.data * out.grad\n"
MUL_TWICE = "`a * a`, one Value used twice (value and gradient)"
MUL_NUMBER = "`*` with a plain number on one side (value and gradient)"


def _draw_multiply(random: Random) -> Iterator[Case]:
    yield _operation(random, "a * b", gradient=GRADIENTS)
    yield _operation(random, "a * b", gradient=GRADIENTS, a=0.0)
    yield _operation(random, "a * b", gradient=ALL_ON_TOP, earlier=True)
    yield _operation(random, "a * a", about=MUL_TWICE)
    for form in ("a * n", "n * a"):
        yield _operation(random, form, about=MUL_NUMBER, n=random.choice([-5, -0.5, 3, 4.2]))


MULTIPLY = Exercise(
    id="value-mul",
    points=2,
    call=_steps,
    observe=observe.multiply,
    reference="""
def multiply(self, other):
    a, b = self, as_value(other)
    product = Value(a.data * b.data, (a, b), "*")
    def _backward():
        for one, partner in ((a, b), (b, a)):
            one.grad += partner.data * product.grad
    product._backward = _backward
    return product
""",
    parts={
        VALUE: "the product of the two `data`, the first argument of Value(...)",
        RECORD: "the parents, the second argument of Value(...): (self, other)",
        GRADIENTS: "`_backward`: each operand gets the other's data, times out.grad",
        ALL_ON_TOP: "the `+=` in `_backward`: the gradient that is there already must stay",
        MUL_TWICE: "`_backward` when self and other are one object: the square has the slope 2a",
        MUL_NUMBER: "the line that makes a Value of a number, as in your `add`",
    },
    lesson=[
        {
            "form": "a * b",
            "a": 2.0,
            "b": -3.0,
            "before": {"a": 0.0, "b": 0.0},
            "upstream": -2.0,
            "gradient": GRADIENTS,
        },
        {"form": "a * a", "a": 3.0, "before": {"a": 0.0}, "upstream": 1.0, "about": MUL_TWICE},
    ],
    draw=_draw_multiply,
    tolerance=ROUNDING,
    variants={
        "as taught": MULTIPLY_USUAL,
        "slopes kept": """
def multiply(self, other):
    other = as_value(other)
    slopes = (other.data, self.data)
    out = Value(self.data * other.data, (self, other), "*")
    def _backward():
        for parent, slope in zip(out.parents, slopes):
            parent.grad = parent.grad + out.grad * slope
    out._backward = _backward
    return out
""",
        "contributions first": """
def multiply(self, other):
    if not isinstance(other, Value):
        other = Value(other)
    out = Value(other.data * self.data, (other, self), "*")
    def _backward():
        to_self = out.grad * other.data
        to_other = out.grad * self.data
        self.grad += to_self
        other.grad += to_other
    out._backward = _backward
    return out
""",
    },
    mistakes=[
        Mistake(
            "assigned",
            MULTIPLY_USUAL.replace("+=", "="),
            "The gradient is assigned, not added. In x * x both contributions go to the one x, and the second wipes "
            "out the first: write +=.",
        ),
        Mistake(
            "no-upstream",
            MULTIPLY_USUAL.replace(" * out.grad", ""),
            "The local derivatives are right, but the chain rule multiplies them by the gradient that arrives from "
            "above, out.grad.",
        ),
        Mistake(
            "own-data",
            edited(MULTIPLY_USUAL, MUL_LEFT + MUL_RIGHT, "").replace(
                "    def _backward():\n",
                "    def _backward():\n        self.grad += self.data * out.grad\n"
                "        other.grad += other.data * out.grad\n",
            ),
            "Each operand gets its own data as slope. In a * b, a rise of a by h raises the product by b times h: "
            "the slope by one factor is the other one.",
        ),
        Mistake(
            "sum-rule",
            MULTIPLY_USUAL.replace("other.data * out.grad", "out.grad").replace(
                "self.data * out.grad", "out.grad"
            ),
            "out.grad is passed on unchanged, which is right for a sum. The slope of a product by one factor "
            "depends on the other factor.",
        ),
        Mistake(
            "not-lifted",
            edited(MULTIPLY_USUAL, "    other = as_value(other)\n", ""),
            "`2 * a` fails because the number 2 is no Value and has no `data`. Let as_value take care of `other` first.",
        ),
        Mistake(
            "number-without-way-back",
            edited(
                MULTIPLY_USUAL,
                "    other = as_value(other)\n",
                '    if not isinstance(other, Value):\n        return Value(self.data * other, (self,), "*")\n',
            ),
            "With a plain number the product is right, but that Value gets no `_backward`, so nothing is passed to "
            "self. Make a Value of the number and treat it like every other.",
        ),
        Mistake(
            "left-only",
            edited(MULTIPLY_USUAL, MUL_RIGHT, ""),
            "The left factor gets its gradient, the right one nothing. Both have a share in the product.",
        ),
        Mistake(
            "divided",
            MULTIPLY_USUAL.replace("+= other.data * out.grad", "+= out.data / self.data * out.grad").replace(
                "+= self.data * out.grad", "+= out.data / other.data * out.grad"
            ),
            "out.data / self.data is the other factor only while self.data is not 0: at 0 it fails. Take "
            "other.data itself.",
        ),
        Mistake(
            "added-upstream",
            MULTIPLY_USUAL.replace(".data * out.grad", ".data + out.grad"),
            "The local derivative and the gradient from above are added. Rates multiply along a path, says the chain rule.",
        ),
        Mistake(
            "grad-for-data",
            MULTIPLY_USUAL.replace("other.data * out.grad", "other.grad * out.grad").replace(
                "self.data * out.grad", "self.grad * out.grad"
            ),
            "The slope of a product by one factor is the other factor's number, its `data`. Its `grad` has no part in this.",
        ),
        Mistake(
            "square-once",
            edited(
                MULTIPLY_USUAL,
                MUL_RIGHT,
                "        if other is not self:\n            " + MUL_RIGHT.strip() + "\n",
            ),
            "In x * x only one of the two uses is counted, which makes the slope x. Each use has its contribution, even "
            "when both are by the same object.",
        ),
        Mistake(
            "no-parents",
            edited(MULTIPLY_USUAL, ', (self, other), "*"', ""),
            "The product has forgotten its factors: pass (self, other) to Value(...), or the way back ends here.",
        ),
        Mistake(
            "a-sum",
            edited(MULTIPLY_USUAL, "self.data * other.data,", "self.data + other.data,"),
            "The gradients are those of a product, but the number is a sum: a plus sign was left over from `add`.",
        ),
        Mistake(
            "a-number",
            "def multiply(self, other):\n    return self.data * as_value(other).data\n",
            "What comes back is a bare number. The product has to be a new Value, which remembers its two factors.",
        ),
    ],
    attach="Value.__mul__ = Value.__rmul__ = multiply",
)


POWER_USUAL = """
def power(self, k):
    out = Value(self.data**k, (self,), f"**{k}")

    def _backward():
        if k != 0:
            self.grad += k * self.data ** (k - 1) * out.grad

    out._backward = _backward
    return out
"""
POWER_PLAIN = edited(
    POWER_USUAL,
    "        if k != 0:\n            self.grad += k * self.data ** (k - 1) * out.grad\n",
    "        self.grad += SLOPE * out.grad\n",
)
POWER_AT_ZERO = "value and gradient at 0"


def _power_slope(slope: str) -> str:
    """The usual answer with another slope, right where k is 0."""
    return edited(POWER_PLAIN, "SLOPE", f"({slope} if k != 0 else 0.0)")


def _draw_power(random: Random) -> Iterator[Case]:
    for n in (3, random.choice([2, 4]), random.choice([-1, -2])):
        yield _operation(random, "a ** n", gradient=GRADIENT, n=n)
    positive = random.choice([0.5, 1.5, 2.5])
    yield _operation(random, "a ** n", gradient=GRADIENT, n=positive, a=random.choice([0.6, 1.7, 2.3]))
    yield _operation(random, "a ** n", gradient=ON_TOP, earlier=True, n=3)
    yield _operation(random, "a ** n", gradient=GRADIENT, n=0)
    for n in (0, 1, 2, 3):
        yield _operation(random, "a ** n", about=POWER_AT_ZERO, a=0.0, n=n)


POWER = Exercise(
    id="value-pow",
    points=2,
    call=_steps,
    observe=observe.power,
    reference="""
def power(self, k):
    slope = k * self.data ** (k - 1) if k else 0.0
    out = Value(self.data**k, (self,), f"**{k}")
    def _backward():
        self.grad += slope * out.grad
    out._backward = _backward
    return out
""",
    parts={
        VALUE: "the first argument of Value(...): self.data ** k",
        RECORD: "the parents: a tuple with the one Value self in it, (self,); k is a plain number and no parent",
        GRADIENT: "the local derivative, k times x to the k - 1, times out.grad",
        ON_TOP: "the `+=` in `_backward`",
        POWER_AT_ZERO: "what your `_backward` computes for x = 0 and k = 0, 1, 2",
    },
    lesson=[
        {
            "form": "a ** n",
            "a": 3.0,
            "n": 2,
            "before": {"a": 0.0},
            "upstream": 5.0,
            "gradient": GRADIENT,
        }
    ],
    draw=_draw_power,
    tolerance=ROUNDING,
    variants={
        "as taught": POWER_USUAL,
        "three cases": """
def power(self, k):
    if k == 0:
        slope = 0.0
    elif k == 1:
        slope = 1.0
    else:
        slope = k * math.pow(self.data, k - 1)
    out = Value(math.pow(self.data, k), (self,), "pow")
    def _backward():
        self.grad = self.grad + out.grad * slope
    out._backward = _backward
    return out
""",
        "the exponent as a Value": """
def power(self, k):
    exponent = as_value(k)
    out = Value(self.data ** exponent.data, (self, exponent), "**")
    def _backward():
        if exponent.data == 0:
            return
        self.grad += exponent.data * self.data ** (exponent.data - 1) * out.grad
    out._backward = _backward
    return out
""",
    },
    mistakes=[
        Mistake(
            "zeroth-power",
            edited(POWER_PLAIN, "SLOPE", "k * self.data ** (k - 1)"),
            "For k = 0 at x = 0 the formula wants 0 to the power of -1, which is a division by zero. Anything to the "
            "power of 0 is 1, a constant: give that case the slope 0 by itself.",
        ),
        Mistake(
            "zero-base",
            edited(POWER_USUAL, "if k != 0:", "if self.data != 0:"),
            "At x = 0 nothing is passed back, whatever k is. But x ** 1 is x itself, with slope 1 there as well. The "
            "exception is k = 0, not x = 0.",
        ),
        Mistake(
            "no-factor",
            _power_slope("self.data ** (k - 1)"),
            "The factor k is lost. The slope of x to the k is k times x to the k - 1: for the square, 2x and not x.",
        ),
        Mistake(
            "same-exponent",
            _power_slope("k * self.data**k"),
            "The exponent goes down by one in the derivative: k times x to the k - 1.",
        ),
        Mistake(
            "brackets",
            edited(POWER_USUAL, "self.data ** (k - 1) * out.grad", "self.data ** k - 1 * out.grad"),
            "`x ** k - 1` is x to the k, and then 1 less: Python takes powers first. Put k - 1 in brackets.",
        ),
        Mistake(
            "no-upstream",
            edited(POWER_USUAL, " * out.grad", ""),
            "The power's local derivative is passed back alone. Multiply it by the gradient from above, out.grad.",
        ),
        Mistake(
            "assigned",
            edited(POWER_USUAL, "+=", "="),
            "What self.grad held before is wiped out by the =. Other uses of the same Value have left their share there: add with +=.",
        ),
        Mistake(
            "by-division",
            _power_slope("k * out.data / self.data"),
            "Dividing x to the k by x takes the exponent down by one, except at x = 0, where it fails. Compute "
            "x to the k - 1 directly.",
        ),
        Mistake(
            "always-square",
            _power_slope("2 * self.data"),
            "2x is the slope of the square only. For other k, take k times x to the k - 1.",
        ),
        Mistake(
            "exponential",
            edited(POWER_PLAIN, "SLOPE", "out.data * math.log(self.data)"),
            "This would be the slope if the exponent moved. Here k stays fixed and the base x moves.",
        ),
        Mistake(
            "exponent-as-parent",
            edited(POWER_USUAL, "(self,)", "(self, k)"),
            "k is recorded as a parent, but it is a plain number: it has no parents of its own, and the way back would "
            "stumble over it. The only parent is self.",
        ),
        Mistake(
            "no-comma",
            edited(POWER_USUAL, "(self,)", "(self)"),
            "(self) in brackets is just self. A tuple with one element needs a comma: (self,).",
        ),
        Mistake(
            "repeated-product",
            "def power(self, k):\n    out = self\n    for _ in range(k - 1):\n        out = out * self\n    return out\n",
            "Multiplying again and again works for k = 2, 3, 4 only: k may also be 0, negative or a fraction.",
        ),
        Mistake(
            "times-k",
            edited(POWER_USUAL, "Value(self.data**k,", "Value(self.data * k,"),
            "The number is k times x. A power is written with two stars, x ** k.",
        ),
    ],
    attach="Value.__pow__ = power",
)


def _unary(name: str, value: str, slope: str) -> str:
    """The usual answer for a function of one operand."""
    return f"""
def {name}(self):
    out = Value({value}, (self,), "{name}")

    def _backward():
        self.grad += {slope} * out.grad

    out._backward = _backward
    return out
"""


UNARY_PARTS = {
    VALUE: "the first argument of Value(...)",
    RECORD: "the second argument of Value(...): the parents, a tuple with self in it, (self,)",
    GRADIENT: "`_backward`: the local derivative times out.grad",
    ON_TOP: "the `+=` in `_backward`",
}


def _one(function: str, a: float, upstream: float, **more: Any) -> Case:
    """A case of a function of one operand, without an earlier gradient."""
    return {
        "function": function,
        "form": f"a.{function}()",
        "a": a,
        "before": {"a": 0.0},
        "upstream": upstream,
        **({} if "about" in more else {"gradient": GRADIENT}),
        **more,
    }


def _draw_one(random: Random, function: str, numbers: list[float], later: float) -> Iterator[Case]:
    """Cases of a function of one operand: at each of `numbers`, and `later` with an earlier gradient."""
    for a in numbers:
        yield _one(function, a, _signed(random, 1)[0])
    upstream, before = _signed(random, 2)
    yield _one(function, later, upstream, before={"a": before}, gradient=ON_TOP)


EXP_USUAL = _unary("exp", "math.exp(self.data)", "out.data")

EXP = Exercise(
    id="value-exp",
    points=2,
    call=_steps,
    observe=observe.unary,
    reference="""
def exp(self):
    power_of_e = math.e ** self.data
    out = Value(power_of_e, (self,), "exp")
    def _backward():
        self.grad += power_of_e * out.grad
    out._backward = _backward
    return out
""",
    parts={**UNARY_PARTS, GRADIENT: "`_backward`: exp is its own derivative, and out.data holds it already"},
    lesson=[_one("exp", 0.0, 3.0), _one("exp", 2.0, -1.0)],
    draw=lambda random: _draw_one(random, "exp", _signed(random, 3), random.choice([-1.2, 0.8, 1.4])),
    tolerance=Tolerance(
        1e-9, 1e-12, "e to the x by exp and by a power of e differ in the last digits of a double only"
    ),
    variants={
        "as taught": EXP_USUAL,
        "computed again": _unary("exp", "math.exp(self.data)", "math.exp(self.data)"),
        "NumPy": """
import numpy as np

def exp(self):
    result = np.exp(self.data)
    out = Value(result, [self], "exp")
    out._backward = lambda: setattr(self, "grad", self.grad + result * out.grad)
    return out
""",
    },
    mistakes=[
        Mistake(
            "passed-on",
            edited(EXP_USUAL, "out.data * out.grad", "out.grad"),
            "The gradient is passed on unchanged: exp's own local derivative is forgotten. At 0, where it is 1, "
            "nobody would notice.",
        ),
        Mistake(
            "no-upstream",
            edited(EXP_USUAL, " * out.grad", ""),
            "The slope of exp alone goes back. It has to be multiplied by out.grad, the gradient from above.",
        ),
        Mistake(
            "assigned",
            edited(EXP_USUAL, "+=", "="),
            "self.grad is overwritten. If self is used elsewhere too, that contribution is gone: use +=.",
        ),
        Mistake(
            "power-rule",
            edited(EXP_USUAL, "out.data * out.grad", "self.data * math.exp(self.data - 1) * out.grad"),
            "That is the rule for x to the k, where the base moves. In e to the x it is the exponent that moves: look "
            "at the two columns of the table again.",
        ),
        Mistake(
            "own-data",
            edited(EXP_USUAL, "out.data * out.grad", "self.data * out.grad"),
            "The slope of e to the x is e to the x, the number in out. self.data is the exponent x.",
        ),
        Mistake(
            "too-early",
            edited(EXP_USUAL, "    def _backward", "    upstream = out.grad\n\n    def _backward").replace(
                "out.data * out.grad", "out.data * upstream"
            ),
            "out.grad is read while out is being made, when it is still 0, and that 0 is kept. Read out.grad inside "
            "`_backward`, which runs later.",
        ),
        Mistake(
            "no-comma",
            edited(EXP_USUAL, "(self,)", "(self)"),
            "Without its comma, (self) is no tuple but self alone: the one parent is written (self,).",
        ),
        Mistake(
            "a-number",
            "def exp(self):\n    return math.exp(self.data)\n",
            "The number is right, but it is a bare number: no gradient can come back through it. Put it in a Value.",
        ),
        Mistake(
            "rounded-e",
            edited(EXP_USUAL, "math.exp(self.data)", "2.718**self.data"),
            "2.718 is e with three decimals only, which shows in the fourth digit. math.exp has all sixteen.",
        ),
        Mistake(
            "no-return",
            edited(EXP_USUAL, "    return out\n", ""),
            "Nothing comes back from exp: its last line must be `return out`.",
        ),
    ],
    attach="Value.exp = exp",
)

LOG_USUAL = _unary("log", "math.log(self.data)", "1 / self.data")


def _draw_log(random: Random) -> Iterator[Case]:
    numbers = [random.choice([0.05, 0.2, 0.4]), random.choice([1.6, 2.5, 3.2]), random.choice([12.0, 40.0])]
    return _draw_one(random, "log", numbers, random.choice([0.5, 2.0, 4.0]))


LOG = Exercise(
    id="value-log",
    points=2,
    call=_steps,
    observe=observe.unary,
    reference="""
def log(self):
    out = Value(math.log(self.data), (self,), "log")
    def _backward():
        self.grad += out.grad / self.data
    out._backward = _backward
    return out
""",
    parts={**UNARY_PARTS, GRADIENT: "`_backward`: the slope of the logarithm at self.data, times out.grad"},
    lesson=[_one("log", 1.0, 3.0), _one("log", 4.0, -2.0)],
    draw=_draw_log,
    tolerance=ROUNDING,
    variants={
        "as taught": LOG_USUAL,
        "a power": _unary("log", "math.log(self.data)", "self.data**-1"),
        "slope kept": """
def log(self):
    number, slope = math.log(self.data), 1 / self.data
    out = Value(number, (self,))
    def _backward():
        self.grad = self.grad + out.grad * slope
    out._backward = _backward
    return out
""",
    },
    mistakes=[
        Mistake(
            "passed-on",
            edited(LOG_USUAL, "1 / self.data * out.grad", "out.grad"),
            "log hands the gradient on as if its slope were 1, which is true at 1 only. At 4 the logarithm rises four "
            "times more slowly.",
        ),
        Mistake(
            "no-upstream",
            edited(LOG_USUAL, " * out.grad", ""),
            "The gradient from above, out.grad, has no part in this. Multiply the slope of the logarithm by it.",
        ),
        Mistake(
            "assigned",
            edited(LOG_USUAL, "+=", "="),
            "An = replaces the gradient that other uses of this Value have left. It takes a += to add to it.",
        ),
        Mistake(
            "not-turned-over",
            edited(LOG_USUAL, "1 / self.data", "self.data"),
            "The slope is x here. The table shows that it gets smaller as x grows: what happens to it when x doubles?",
        ),
        Mistake(
            "by-the-result",
            edited(LOG_USUAL, "1 / self.data", "1 / out.data"),
            "You divide by the logarithm, which is even 0 at x = 1. The slope depends on x itself, self.data.",
        ),
        Mistake(
            "slope-of-exp",
            edited(LOG_USUAL, "1 / self.data", "out.data"),
            "That is how exp works: its result is its own slope. The logarithm's slope is another one.",
        ),
        Mistake(
            "base-ten",
            edited(LOG_USUAL, "math.log(", "math.log10("),
            "This is the logarithm to base 10. The one with the slope from the table, to base e, is math.log.",
        ),
        Mistake(
            "base-two",
            _unary("log", "math.log2(self.data)", "1 / (self.data * math.log(2))"),
            "Value and slope fit each other, but to base 2. The natural logarithm, base e, is wanted: math.log.",
        ),
        Mistake(
            "called",
            edited(LOG_USUAL, STORED, "    out._backward = _backward()\n"),
            "The brackets in `out._backward = _backward()` call the function now, and what is stored is None. Store "
            "it without brackets.",
        ),
        Mistake(
            "on-the-operand",
            edited(LOG_USUAL, STORED, "    self._backward = _backward\n"),
            "`_backward` is stored in self, the operand, where it overwrites self's own way back. It belongs to out, "
            "the node that was made here.",
        ),
        Mistake(
            "no-parents",
            edited(LOG_USUAL, ', (self,), "log"', ""),
            "The logarithm does not remember its operand: give Value(...) the parents (self,).",
        ),
    ],
    attach="Value.log = log",
)

TANH_USUAL = """
def tanh(self):
    t = math.tanh(self.data)
    out = Value(t, (self,), "tanh")

    def _backward():
        self.grad += (1 - t * t) * out.grad

    out._backward = _backward
    return out
"""
TANH_FAR = "value and gradient at 1000 and at -1000"


def _draw_tanh(random: Random) -> Iterator[Case]:
    signs = random.sample([-1, 1], 2)
    numbers = [sign * random.choice([0.3, 0.5, 0.8, 1.1]) for sign in signs]
    yield from _draw_one(random, "tanh", numbers, random.choice([-0.9, 0.4, 0.7]))
    for a in (1000.0, -1000.0):
        yield _one("tanh", a, _signed(random, 1)[0], about=TANH_FAR)


TANH = Exercise(
    id="value-tanh",
    points=2,
    call=_steps,
    observe=observe.unary,
    reference="""
def tanh(self):
    out = Value(math.tanh(self.data), (self,), "tanh")
    def _backward():
        self.grad += (1 + out.data) * (1 - out.data) * out.grad
    out._backward = _backward
    return out
""",
    parts={
        **UNARY_PARTS,
        GRADIENT: "`_backward`: 1 minus the square of the tanh, in brackets, times out.grad",
        TANH_FAR: "the way the tanh is computed: e to the 1000 is too large for the computer, math.tanh is not",
    },
    lesson=[_one("tanh", 0.0, 3.0), _one("tanh", 0.5, -2.0)],
    draw=_draw_tanh,
    tolerance=Tolerance(
        1e-9,
        1e-12,
        "1 - t² and the other forms of the slope lose a few of a double's 16 digits below |x| = 2",
    ),
    variants={
        "as taught": TANH_USUAL,
        "by the result": edited(TANH_USUAL, "1 - t * t", "1 - out.data**2"),
        "exp with the sign outside": """
def tanh(self):
    shrunk = math.exp(-2 * abs(self.data))
    t = math.copysign((1 - shrunk) / (1 + shrunk), self.data)
    out = Value(t, (self,), "tanh")
    def _backward():
        self.grad += 4 * shrunk / (1 + shrunk) ** 2 * out.grad
    out._backward = _backward
    return out
""",
    },
    mistakes=[
        Mistake(
            "overflow",
            edited(
                TANH_USUAL,
                "math.tanh(self.data)",
                "(math.exp(2 * self.data) - 1) / (math.exp(2 * self.data) + 1)",
            ),
            "The formula is right, but e to the 2000 is too large for the computer, so that the tanh of 1000 fails "
            "where it should be 1. math.tanh knows how to avoid this.",
        ),
        Mistake(
            "overflow-below",
            edited(
                TANH_USUAL,
                "math.tanh(self.data)",
                "(1 - math.exp(-2 * self.data)) / (1 + math.exp(-2 * self.data))",
            ),
            "Far to the right this form is safe, but at -1000 it needs e to the 2000 and fails. math.tanh is safe on both sides.",
        ),
        Mistake(
            "slope-overflow",
            edited(TANH_USUAL, "(1 - t * t)", "1 / math.cosh(self.data) ** 2"),
            "One over cosh squared is the same slope, but cosh(1000) is too large for the computer. 1 - t squared needs "
            "nothing large.",
        ),
        Mistake(
            "not-squared",
            edited(TANH_USUAL, "t * t", "t"),
            "The slope is 1 minus the square of t; the square is missing.",
        ),
        Mistake(
            "square-of-x",
            edited(TANH_USUAL, "t * t", "self.data * self.data"),
            "It is the tanh that is squared in the slope, not x itself.",
        ),
        Mistake(
            "plus",
            edited(TANH_USUAL, "1 - t", "1 + t"),
            "With a plus the slope would be largest far out, where tanh is flat. Subtract the square of t from 1.",
        ),
        Mistake(
            "sigmoid",
            edited(TANH_USUAL, "(1 - t * t)", "t * (1 - t)"),
            "t (1 - t) is the slope of another S-shaped function, the sigmoid. At 0, where tanh is steepest, it would be 0.",
        ),
        Mistake(
            "brackets",
            edited(TANH_USUAL, "(1 - t * t) * out.grad", "1 - t * t * out.grad"),
            "Without brackets only the square is multiplied by out.grad, and the 1 is not.",
        ),
        Mistake(
            "passed-on",
            edited(TANH_USUAL, "(1 - t * t) * out.grad", "out.grad"),
            "tanh's own slope is missing: out.grad is passed on as it is. That is right at 0 only.",
        ),
        Mistake(
            "no-upstream",
            edited(TANH_USUAL, " * out.grad", ""),
            "This is tanh's slope, which would be the whole gradient if tanh came last. Otherwise out.grad is a factor, too.",
        ),
        Mistake(
            "assigned",
            edited(TANH_USUAL, "+=", "="),
            "The earlier contributions to self.grad are lost, because = puts the new one in their place.",
        ),
        Mistake(
            "sine",
            edited(TANH_USUAL, "math.tanh", "math.sin"),
            "The number does not come from tanh: which function of `math` did you call?",
        ),
    ],
    attach="Value.tanh = tanh",
)

RELU_USUAL = """
def relu(self):
    out = Value(max(self.data, 0.0), (self,), "relu")

    def _backward():
        if self.data > 0:
            self.grad += out.grad

    out._backward = _backward
    return out
"""
RELU_CORNER = "value and gradient at 0"


def _draw_relu(random: Random) -> Iterator[Case]:
    numbers = [random.choice([1.6, 2.7, 3.4]), random.choice([-1.4, -2.2, -3.1]), 0.02, -0.03]
    yield from _draw_one(random, "relu", numbers, random.choice([0.8, 1.3, 2.5]))
    yield _one("relu", 0.0, _signed(random, 1)[0], about=RELU_CORNER)


def _slope_at_the_corner(case: Case, part: str, value: Any) -> Any:
    """At 0 the value is 0, and any slope from 0 to 1 is right."""
    if part != RELU_CORNER or not isinstance(value, list) or len(value) != 2:
        return value
    height, gradient = value
    if isinstance(gradient, bool) or not isinstance(gradient, int | float):
        return value
    slope = gradient / case["upstream"]
    return [height, "a slope from 0 to 1"] if -1e-9 <= slope <= 1 + 1e-9 else value


RELU = Exercise(
    id="value-relu",
    points=2,
    call=_steps,
    observe=observe.unary,
    reference="""
def relu(self):
    slope = float(self.data > 0)
    out = Value(slope * self.data, (self,), "relu")
    def _backward():
        self.grad += slope * out.grad
    out._backward = _backward
    return out
""",
    parts={
        **UNARY_PARTS,
        VALUE: "the number in Value(...): self.data if it is above 0, otherwise 0",
        GRADIENT: "`_backward`: the slope is 1 where self.data is above 0, and 0 below",
        RELU_CORNER: "0 itself, where the value is 0 and any slope from 0 to 1 is right",
    },
    lesson=[_one("relu", 2.0, 3.0), _one("relu", -2.0, 3.0), _one("relu", 0.0, 3.0, about=RELU_CORNER)],
    draw=_draw_relu,
    tolerance=ROUNDING,
    reading=_slope_at_the_corner,
    variants={
        "as taught": RELU_USUAL,
        "by the result": edited(RELU_USUAL, "if self.data > 0:", "if out.data > 0:"),
        "slope 1 at 0": edited(RELU_USUAL, "if self.data > 0:", "if self.data >= 0:"),
        "two cases": """
def relu(self):
    if self.data > 0:
        number, slope = self.data, 1.0
    elif self.data < 0:
        number, slope = 0.0, 0.0
    else:
        number, slope = 0.0, 0.5
    out = Value(number, (self,))
    def _backward():
        self.grad = self.grad + slope * out.grad
    out._backward = _backward
    return out
""",
        "a product": """
def relu(self):
    return self * (1.0 if self.data > 0 else 0.0)
""",
    },
    mistakes=[
        Mistake(
            "always-open",
            edited(RELU_USUAL, "        if self.data > 0:\n            self.grad", "        self.grad"),
            "Gradient passes for negative numbers as well. There relu is flat, whatever the number: its slope is 0.",
        ),
        Mistake(
            "gate-turned",
            edited(RELU_USUAL, "if self.data > 0:", "if self.data < 0:"),
            "The condition is turned round: gradient passes where the number is above 0.",
        ),
        Mistake(
            "absolute",
            edited(RELU_USUAL, "max(self.data, 0.0)", "abs(self.data)"),
            "abs turns negative numbers into positive ones. relu makes them 0.",
        ),
        Mistake(
            "smaller-one",
            edited(RELU_USUAL, "max(", "min("),
            "min keeps the negative numbers and makes 0 of the positive ones. It is the larger of x and 0 that is wanted.",
        ),
        Mistake(
            "leaky",
            edited(RELU_USUAL, "max(self.data, 0.0)", "max(self.data, 0.01 * self.data)"),
            "This lets a hundredth of a negative number through, as a relative of relu does, the leaky one. Here it is 0.",
        ),
        Mistake(
            "a-step",
            edited(RELU_USUAL, "max(self.data, 0.0)", "1.0 if self.data > 0 else 0.0"),
            "The number is relu's slope, 1 or 0. Its value above 0 is the number x itself.",
        ),
        Mistake(
            "no-upstream",
            edited(RELU_USUAL, "+= out.grad", "+= 1.0"),
            "Above 0 the slope is 1, but what is passed back is that slope times out.grad.",
        ),
        Mistake(
            "assigned",
            edited(RELU_USUAL, "+=", "="),
            "self.grad is set instead of added to: its earlier contributions are gone.",
        ),
        Mistake(
            "value-as-slope",
            edited(RELU_USUAL, "+= out.grad", "+= out.data * out.grad"),
            "The gradient is multiplied by relu's value. Above 0 relu is a line with slope 1, however high it stands.",
        ),
        Mistake(
            "self-again",
            "def relu(self):\n    return self if self.data > 0 else Value(0.0)\n",
            "For a positive number this hands back self and makes no new node, so self and its relu share one gradient. "
            "Make a new Value with self as its parent.",
        ),
        Mistake(
            "a-number",
            "def relu(self):\n    return max(self.data, 0.0)\n",
            "The larger of x and 0 is right, but it comes back as a bare number. Wrap it in a Value with a way back.",
        ),
    ],
    attach="Value.relu = relu",
)

ARITHMETIC_USUAL = """
def negate(self):
    return self * -1

def subtract(self, other):
    return self + -as_value(other)

def subtract_from(self, other):
    return as_value(other) - self

def divide(self, other):
    return self * as_value(other) ** -1

def divide_into(self, other):
    return as_value(other) / self
"""
NEGATIVE = "the negative (value, gradient)"
DIFFERENCE = "the difference (value, gradients)"
FROM_NUMBER = "the difference of a number and a Value (value, gradient)"
QUOTIENT = "the quotient (value, gradients)"
OF_NUMBER = "the quotient of a number and a Value (value, gradient)"
ARITHMETIC_FORMS = {
    "-a": ("negate", NEGATIVE),
    "a - b": ("subtract", DIFFERENCE),
    "a - a": ("subtract", DIFFERENCE),
    "a - n": ("subtract", DIFFERENCE),
    "n - a": ("subtract_from", FROM_NUMBER),
    "a / b": ("divide", QUOTIENT),
    "a / a": ("divide", QUOTIENT),
    "a / n": ("divide", QUOTIENT),
    "n / a": ("divide_into", OF_NUMBER),
}


def _draw_arithmetic(random: Random) -> Iterator[Case]:
    for form, (function, about) in ARITHMETIC_FORMS.items():
        more = {"n": random.choice([-4, -2.5, 3, 5])} if "n" in form else {}
        yield _operation(
            random, form, function=function, about=about, earlier=random.choice([True, False]), **more
        )


ARITHMETIC = Exercise(
    id="value-arithmetic",
    points=3,
    call=_steps_of_several,
    observe=observe.arithmetic,
    reference="""
def negate(self):
    return self * -1

def subtract(self, other):
    return self + other * -1

def subtract_from(self, other):
    return self * -1 + other

def divide(self, other):
    return self * as_value(other) ** -1

def divide_into(self, other):
    return self ** -1 * other
""",
    parts={
        NEGATIVE: "negate: a product with the number -1",
        DIFFERENCE: "subtract: self plus the negative of other",
        FROM_NUMBER: "subtract_from: other comes first, `3 - a` is other - self",
        QUOTIENT: "divide: self times other to the power of -1",
        OF_NUMBER: "divide_into: other comes first, `3 / a` is other / self",
    },
    lesson=[
        {
            "form": "n - a",
            "function": "subtract_from",
            "n": 3,
            "a": 2.0,
            "before": {"a": 0.0},
            "upstream": 2.0,
            "about": FROM_NUMBER,
        }
    ],
    draw=_draw_arithmetic,
    tolerance=ROUNDING,
    variants={
        "as taught": ARITHMETIC_USUAL,
        "through one": """
def negate(self):
    return multiply(self, -1)

def subtract(self, other):
    return add(self, negate(as_value(other)))

def subtract_from(self, other):
    return add(negate(self), other)

def divide(self, other):
    return self * (1 / other)

def divide_into(self, other):
    return multiply(power(self, -1), other)
""",
        "minus signs": """
def negate(self):
    return -1 * self

def subtract(self, other):
    return self + (-other)

def subtract_from(self, other):
    return -(self - other)

def divide(self, other):
    return self * power(as_value(other), -1.0)

def divide_into(self, other):
    return subtract(other * self ** -1, 0)
""",
    },
    mistakes=[
        Mistake(
            "difference-swapped",
            edited(ARITHMETIC_USUAL, "as_value(other) - self", "self - other"),
            "For `3 - a` Python calls subtract_from(a, 3): self is what stands on the right. What is wanted is other - self.",
        ),
        Mistake(
            "quotient-swapped",
            edited(ARITHMETIC_USUAL, "as_value(other) / self", "self / other"),
            "For `3 / a` Python calls divide_into(a, 3): self is the divisor. What is wanted is other / self.",
        ),
        Mistake(
            "negative-cut",
            edited(ARITHMETIC_USUAL, "self * -1", "Value(-self.data)"),
            "The negative is a fresh Value without parents, so no gradient finds back to self. Build it from self by "
            "an operation that you have.",
        ),
        Mistake(
            "difference-cut",
            edited(ARITHMETIC_USUAL, "self + -as_value(other)", "Value(self.data - as_value(other).data)"),
            "A Value made of .data has no parents: the number is right and the gradient is lost. Use + and the negative, "
            "which know their way back.",
        ),
        Mistake(
            "divisor-cut",
            edited(ARITHMETIC_USUAL, "as_value(other) ** -1", "(1 / as_value(other).data)"),
            "The divisor enters as a plain number, other.data, and gets no gradient. Take other itself to the power of -1.",
        ),
        Mistake(
            "power-first",
            edited(ARITHMETIC_USUAL, "self * as_value(other) ** -1", "(self * as_value(other)) ** -1"),
            "The whole product is turned over, which gives 1 / (a b). Only the divisor gets the power of -1.",
        ),
        Mistake(
            "power-of-a-number",
            edited(ARITHMETIC_USUAL, "as_value(other) ** -1", "power(other, -1)"),
            "With a plain number as divisor, power(other, -1) fails: a number has no `data`. Lift it with as_value, or "
            "write the operator **, which numbers have, too.",
        ),
        Mistake(
            "asks-itself",
            edited(ARITHMETIC_USUAL, "self + -as_value(other)", "self - other"),
            "subtract is what `-` calls, so a `-` inside it calls subtract again, and so on without an end. Build it from "
            "+ and the negative.",
        ),
        Mistake(
            "in-a-circle",
            edited(ARITHMETIC_USUAL, "as_value(other) ** -1", "(1 / other)"),
            "divide asks for 1 / other, which is divide_into, and that asks for a quotient of two Values, which is "
            "divide: they call each other for ever. One of the two has to use the power of -1.",
        ),
        Mistake(
            "no-minus",
            edited(ARITHMETIC_USUAL, "self + -as_value(other)", "self + as_value(other)"),
            "subtract adds: the minus in front of other is missing.",
        ),
        Mistake(
            "upside-down",
            edited(ARITHMETIC_USUAL, "self * as_value(other) ** -1", "self ** -1 * other"),
            "The fraction stands on its head: this is other / self. The power of -1 belongs to the divisor.",
        ),
        Mistake(
            "sign-in-place",
            edited(ARITHMETIC_USUAL, "    return self * -1", "    self.data = -self.data\n    return self"),
            "negate changes the sign of self itself. Afterwards a is another number, and no new node has been made.",
        ),
        Mistake(
            "a-number",
            edited(ARITHMETIC_USUAL, "return as_value(other) - self", "return other - self.data"),
            "For `3 - a` a bare number comes back, because of the .data. Subtract the Values themselves.",
        ),
        Mistake(
            "half-square",
            edited(ARITHMETIC_USUAL, "as_value(other) ** -1", "as_value(other) ** -2"),
            "The exponent -2 divides by the square. One over x is x to the power of -1.",
        ),
    ],
    attach=(
        "Value.__neg__ = negate\n"
        "Value.__sub__, Value.__rsub__ = subtract, subtract_from\n"
        "Value.__truediv__, Value.__rtruediv__ = divide, divide_into"
    ),
)

LESSON_GRAPH = {
    "a": [],
    "b": [],
    "c": ["a", "b"],
    "d": ["a", "b"],
    "e": ["c", "d"],
    "f": ["c", "d"],
    "y": ["e", "f"],
}
LENGTHS = (3121, 3167, 3203, 3251)  # of long chains: more than calls may be deep in a kernel
NODES, ORDER_PART, LONG = "the list of nodes", "the order", "the order of a long chain"


def _draw_order(random: Random) -> Iterator[Case]:
    for size in (6, 8):
        names = random.sample("abcdefghijk", size)
        nodes: dict[str, list[str]] = {name: [] for name in names[:2]}
        for place in range(2, size):
            nodes[names[place]] = [names[place - 1], random.choice(names[: place - 1])]
        nodes = dict(sorted({**nodes, "z": [names[2]]}.items()))  # in no order that would be an answer
        yield {"nodes": nodes, "output": names[-1]}
    length = random.choice(LENGTHS)
    typed = (
        f"topological_order(the last one of {length} nodes in a row, where each is the parent of the next)"
    )
    yield {"chain": length, "typed": typed}


def _order_of(case: Case, part: str, value: Any) -> Any:
    """Which nodes are there, and which stand before their parents: every valid order reads the same."""
    if "nodes" not in case or not isinstance(value, list):
        return value
    found = [str(one) for one in value]
    if part == NODES:
        return sorted(found)
    first = {name: place for place, name in reversed([*enumerate(found)])}
    edges = [(name, parent) for name, parents in case["nodes"].items() for parent in parents]
    judged = [(name, parent) for name, parent in edges if name in first and parent in first]
    if _feeding(case) and not judged:
        return "nothing in an order"  # which no right answer reads as
    return sorted([name, parent] for name, parent in judged if first[name] <= first[parent])


def _feeding(case: Case) -> bool:
    """Whether the output has parents at all."""
    return bool(case["nodes"][case["output"]])


def _graph(case: Case) -> str:
    if "typed" in case:
        return str(case["typed"])
    nodes = (f"{name}({', '.join(parents)})" if parents else name for name, parents in case["nodes"].items())
    return f"topological_order({case['output']}) for the nodes, with their parents, {', '.join(nodes)}"


ORDER_USUAL = """
def topological_order(output):
    order, seen = [], set()
    todo = [(output, False)]
    while todo:
        node, parents_done = todo.pop()
        if parents_done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            todo.append((node, True))
            for parent in node.parents:
                todo.append((parent, False))
    return order
"""
ORDER_RECURSIVE = """
def topological_order(output):
    order, seen = [], set()

    def build(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                build(parent)
            order.append(node)

    build(output)
    return order
"""
ORDER_AS_MET = """
def topological_order(output):
    order, seen, todo = [], set(), [output]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            order.append(node)
            todo.extend(node.parents)
    return order
"""

ORDER = Exercise(
    id="value-order",
    points=3,
    call=_graph,
    observe=observe.order,
    reference="""
def topological_order(output):
    order, path = {}, [output]
    while path:
        waiting = [parent for parent in path[-1].parents if parent not in order]
        if waiting:
            path.append(waiting[0])
        else:
            order[path.pop()] = True
    return list(order)
""",
    parts={
        NODES: "which nodes are there: each one that feeds the output, once, and the output itself",
        ORDER_PART: "the moment when a node is appended: all its parents must be in the list by then (any such "
        "order is right, not only the expected one)",
        LONG: "functions that call themselves: with thousands of nodes in a row, Python gives up; use a to-do list",
    },
    lesson=[
        {"nodes": LESSON_GRAPH, "output": "y"},
        {"nodes": {"x": []}, "output": "x"},
        {"nodes": {"x": [], "p": ["x", "x"], "y": ["p", "x"]}, "output": "y"},
        {"nodes": {"x": [], "p": ["x"], "q": ["p"], "y": ["x", "q"]}, "output": "y"},
        {"nodes": {"x": [], "p": ["x"], "q": ["p"], "y": ["q", "p"]}, "output": "y"},
    ],
    draw=_draw_order,
    tolerance=EXACT,
    reading=_order_of,
    variants={
        "as taught": ORDER_USUAL,
        "counting uses": """
def topological_order(output):
    nodes, uses = [output], {output: 0}
    for node in nodes:
        for parent in node.parents:
            if parent not in uses:
                uses[parent] = 0
                nodes.append(parent)
            uses[parent] += 1
    free, order = [output], []
    while free:
        node = free.pop()
        order.append(node)
        for parent in node.parents:
            uses[parent] -= 1
            if uses[parent] == 0:
                free.append(parent)
    order.reverse()
    return order
""",
        "iterators on a stack": """
def topological_order(output):
    order, seen = [], {id(output)}
    stack = [(output, iter(output.parents))]
    while stack:
        node, parents = stack[-1]
        parent = next(parents, None)
        if parent is None:
            order.append(node)
            stack.pop()
        elif id(parent) not in seen:
            seen.add(id(parent))
            stack.append((parent, iter(parent.parents)))
    return tuple(order)
""",
        "generators on a stack": """
def topological_order(output):
    order, seen = [], set()

    def steps(node):
        seen.add(node)
        for parent in node.parents:
            if parent not in seen:
                yield steps(parent)
        order.append(node)

    running = [steps(output)]
    while running:
        following = next(running[-1], None)
        if following is None:
            running.pop()
        else:
            running.append(following)
    return order
""",
    },
    mistakes=[
        Mistake(
            "recursive",
            ORDER_RECURSIVE,
            "The order is right. But the function calls itself once for every node in a row, and Python ends that "
            "after a thousand calls or so. A sum of a few thousand terms is such a row: keep a to-do list of your own.",
        ),
        Mistake(
            "children-first",
            edited(ORDER_USUAL, "return order", "return order[::-1]"),
            "The list is the wrong way round: it begins with the output. Here parents come before what is computed from "
            "them; it is `backward` that walks through the list in reverse.",
        ),
        Mistake(
            "as-met",
            ORDER_AS_MET,
            "Each node is appended as soon as it is met, before its parents. It may be appended only when all its parents "
            "are in the list.",
        ),
        Mistake(
            "as-met-reversed",
            edited(ORDER_AS_MET, "return order", "return order[::-1]"),
            "Turning round the list of the nodes as they were met works on a tree. But a node that is used by two others "
            "may be met by way of the first one too early. Append it when its parents are done.",
        ),
        Mistake(
            "by-levels",
            edited(ORDER_AS_MET, "todo.pop()", "todo.pop(0)").replace("return order", "return order[::-1]"),
            "This sorts the nodes by their distance from the output. A node that is used both near the output and far "
            "from it then stands after one of its users.",
        ),
        Mistake(
            "twice",
            """
def topological_order(output):
    order, todo = [], [(output, False)]
    while todo:
        node, parents_done = todo.pop()
        if parents_done:
            order.append(node)
        else:
            todo.append((node, True))
            for parent in node.parents:
                todo.append((parent, False))
    return order
""",
            "A node that is used twice stands in the list twice, and would pass its gradient on twice. Keep a set of "
            "the nodes that you have seen.",
        ),
        Mistake(
            "twice-recursive",
            """
def topological_order(output):
    order = []
    for parent in output.parents:
        order += topological_order(parent)
    return order + [output]
""",
            "The order is that of a tree: a node that two others use is listed for each of them, and so is all that feeds "
            "it. Remember which nodes are in the list already. (Long chains, too, need something other than "
            "recursion.)",
        ),
        Mistake(
            "without-output",
            edited(ORDER_USUAL, "return order", "return order[:-1]"),
            "The output itself is missing. It is a node, too, and stands last.",
        ),
        Mistake(
            "without-inputs",
            edited(
                ORDER_USUAL,
                "            order.append(node)",
                "            if node.parents:\n                order.append(node)",
            ),
            "The nodes without parents are left out. The inputs belong to the list: they come first.",
        ),
        Mistake(
            "inputs-only",
            edited(
                ORDER_USUAL,
                "            order.append(node)",
                "            if not node.parents:\n                order.append(node)",
            ),
            "Only the inputs are in the list. The steps in between and the output belong there, too.",
        ),
        Mistake(
            "one-level",
            "def topological_order(output):\n    return [*output.parents, output]\n",
            "The list stops at the output's own parents. Their parents feed the output as well, and so on down to the inputs.",
        ),
        Mistake(
            "seen-by-number",
            edited(ORDER_USUAL, "elif node not in seen:", "elif node.data not in seen:").replace(
                "seen.add(node)", "seen.add(node.data)"
            ),
            "Two nodes that hold the same number are taken for one. Remember the nodes themselves, not their `data`.",
        ),
        Mistake(
            "numbers",
            edited(ORDER_USUAL, "return order", "return [node.data for node in order]"),
            "The list holds the numbers of the nodes. Return the nodes themselves: their `_backward` is needed.",
        ),
        Mistake(
            "a-set",
            edited(ORDER_USUAL, "return order", "return seen"),
            "A set has no order. Return the list.",
        ),
        Mistake(
            "old-list",
            edited(
                ORDER_RECURSIVE, "(output):\n    order, seen = [], set()", "(output, order=[], seen=set()):"
            ),
            "`order=[]` and `seen=set()` in the first line are made only once, so the second call still has the nodes of the "
            "first. Make them inside the function. (And long chains need something other than recursion.)",
        ),
    ],
    attach="Value.topological_order = topological_order",
)

INPUTS, BETWEEN = "the gradient of the inputs", "the gradient of the steps in between"
AGAIN, THROUGH = "the gradient after a second call", "the gradient through a long chain"


def _draw_steps(random: Random, **more: Any) -> Case:
    """A computation in which steps are used near the output and far from it."""
    a, b, n = _signed(random, 3)
    first, second, third = (random.choice("+*") for _ in range(3))
    steps = ["t = tanh a", f"c = t {first} b", f"z = c * {n}", f"d = c {second} t"]
    steps += ["e = d * c", f"g = e {third} {n}", "y = g + c"]
    if random.random() < 0.5:
        steps[-1] = "y = c + g"
    return {"inputs": {"a": a, "b": b}, "steps": steps, **more}


def _draw_backward(random: Random) -> Iterator[Case]:
    for _ in range(2):
        yield _draw_steps(random)
    yield _draw_steps(random, stale=random.choice([3.0, -2.5, 7.0]))
    length, x = random.choice(LENGTHS), 0.5  # the gradient does not depend on x
    typed = f"x = Value({x:g}); total = x; then {length} times the step total = total + x; total.backward()"
    yield {"chain": length, "x": x, "typed": typed}


def _computation(case: Case) -> str:
    if "typed" in case:
        return str(case["typed"])
    inputs = "; ".join(f"{name} = Value({data:g})" for name, data in case["inputs"].items())
    output = case["steps"][-1].split()[0] if case["steps"] else [*case["inputs"]][-1]
    call = f"{output}.backward()"
    if "stale" in case:
        call = f"{case['stale']:g} in the grad of each step; {call}; {call}"
    return "; ".join([inputs, *case["steps"], call])


BACKWARD_USUAL = """
def backward(self):
    order = topological_order(self)
    for node in order:
        if node.parents:
            node.grad = 0.0
    self.grad = 1.0
    for node in reversed(order):
        node._backward()
"""
CLEARED = "    for node in order:\n        if node.parents:\n            node.grad = 0.0\n"

BACKWARD = Exercise(
    id="value-backward",
    points=3,
    call=_computation,
    observe=observe.backward,
    reference="""
def backward(self):
    order = list(topological_order(self))
    for node in order:
        node.grad = 0.0 if node.parents else node.grad
    self.grad = 1.0
    while order:
        order.pop()._backward()
""",
    parts={
        INPUTS: "the output's gradient of 1, and the walk through the order from its end to its beginning",
        BETWEEN: "the same walk: every step keeps the gradient that it has received, the output its 1",
        AGAIN: "what is set to 0 before the walk: the steps in between, but not the inputs, which collect",
        THROUGH: "functions that call themselves: take the order from your topological_order",
    },
    lesson=[
        {"inputs": {"a": 2.0, "b": -3.0, "c": 10.0}, "steps": ["d = a * b", "e = d + c", "f = e * -2.0"]},
        {"inputs": {"x": 3.0}, "steps": ["p = x * x", "q = x * 2.0", "y = p + q"]},
        {
            "inputs": {"a": 2.0, "b": 3.0},
            "steps": ["c = a + b", "d = a * b", "e = c + d", "f = c * d", "y = e + f"],
        },
        {"inputs": {"x": 2.0}, "steps": []},
    ],
    draw=_draw_backward,
    tolerance=ROUNDING,
    variants={
        "as taught": BACKWARD_USUAL,
        "by index": """
def backward(self):
    order = self.topological_order()
    for node in order:
        if len(node.parents) > 0:
            node.grad = 0
    self.grad = 1
    for place in range(len(order) - 1, -1, -1):
        order[place]._backward()
""",
        "inputs put back": """
def backward(self):
    order = topological_order(self)
    kept = {node: node.grad for node in order if not node.parents}
    for node in order:
        node.grad = 0.0
    self.grad = 1.0
    for node in order[::-1]:
        node._backward()
    for node, before in kept.items():
        node.grad += before
""",
        "cleared on the way": """
def backward(self):
    order = [*topological_order(self)]
    steps = [node for node in order if node.parents and node is not self]
    for node in steps:
        node.grad = 0.0
    self.grad = 1.0
    for node in reversed(order):
        if node.parents:
            node._backward()
""",
    },
    mistakes=[
        Mistake(
            "not-cleared",
            edited(BACKWARD_USUAL, CLEARED, ""),
            "The first call is right. At the second, the steps in between still hold the gradient of the first, and pass it "
            "on once more. Set them to 0 before the walk, the inputs not.",
        ),
        Mistake(
            "all-cleared",
            edited(BACKWARD_USUAL, CLEARED, "    for node in order:\n        node.grad = 0.0\n"),
            "The inputs are set to 0 as well, so the second call wipes out what the first has collected there. Only nodes "
            "that have parents begin anew.",
        ),
        Mistake(
            "inputs-cleared",
            edited(BACKWARD_USUAL, "if node.parents:", "if not node.parents:"),
            "The wrong nodes are cleared: the inputs, which have no parents, are to collect, and the steps in between are "
            "to begin anew.",
        ),
        Mistake(
            "no-start",
            edited(BACKWARD_USUAL, "    self.grad = 1.0\n", ""),
            "Every gradient stays 0, since 0 is all that there is to pass on. The walk begins with the output's own "
            "gradient, df/df.",
        ),
        Mistake(
            "start-cleared",
            edited(BACKWARD_USUAL, "    self.grad = 1.0\n", "").replace(
                "    for node in order:\n        if",
                "    self.grad = 1.0\n    for node in order:\n        if",
            ),
            "The output is given its 1 and then cleared with the others, so 0 is passed on. Clear first, then set the 1.",
        ),
        Mistake(
            "start-data",
            edited(BACKWARD_USUAL, "self.grad = 1.0", "self.grad = self.data"),
            "The output's gradient is set to its number. It is how fast the output changes with itself.",
        ),
        Mistake(
            "forwards",
            edited(BACKWARD_USUAL, "reversed(order)", "order"),
            "Only the output's own parents have received something. Walking from the inputs, nothing has arrived yet that "
            "could be passed on. Go through the whole order in reverse.",
        ),
        Mistake(
            "not-called",
            edited(BACKWARD_USUAL, "node._backward()", "node._backward"),
            "`node._backward` only names the function. The brackets () call it.",
        ),
        Mistake(
            "depth-first",
            """
def backward(self):
    self.grad = 1.0

    def visit(node):
        node._backward()
        for parent in node.parents:
            visit(parent)

    visit(self)
""",
            "Each node passes its gradient on whenever it is reached. That is right on a tree. In (c + d) + c * d, c "
            "is reached twice and passes its first share on twice. Visit each node once, in the topological order reversed.",
        ),
        Mistake(
            "first-met",
            """
def backward(self):
    self.grad = 1.0
    seen, todo = set(), [self]
    while todo:
        node = todo.pop(0)
        if node not in seen:
            seen.add(node)
            node._backward()
            todo.extend(node.parents)
""",
            "Each node passes on once, but as soon as it is met, when some of its uses may not have delivered their share yet. "
            "The topological order, reversed, has all uses first.",
        ),
        Mistake(
            "parents-backward",
            """
def backward(self):
    self.grad = 1.0
    self._backward()
    for parent in self.parents:
        backward(parent)
""",
            "Calling backward of the parents sets their gradients to 1, as if each of them were the output. They are to "
            "keep what has arrived, and pass it on by `_backward`.",
        ),
        Mistake(
            "cleared-after",
            BACKWARD_USUAL
            + "    for node in order:\n        if node.parents:\n            node.grad = 0.0\n",
            "At the end the steps in between are set to 0 again, and their gradients are lost. They are to keep them "
            "until the next call.",
        ),
        Mistake(
            "recursive-order",
            """
def backward(self):
    order, seen = [], set()

    def build(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                build(parent)
            order.append(node)

    build(self)
"""
            + CLEARED
            + "    self.grad = 1.0\n    for node in reversed(order):\n        node._backward()\n",
            "The gradients are right, but the order is built by a function that calls itself, which gives up on a sum of "
            "some thousand terms. Your topological_order can do it: use it.",
        ),
    ],
    attach="Value.backward = backward",
)

NOTEBOOK = Notebook(
    "03-value-engine",
    GIVEN,
    (LIFT, ADD, MULTIPLY, POWER, EXP, LOG, TANH, RELU, ARITHMETIC, ORDER, BACKWARD),
)
