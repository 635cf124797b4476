"""The exercises of 05-softmax."""

from collections.abc import Iterator
from random import Random

from ..exercise import Exercise, Mistake, Notebook, Tolerance, edited, no_draw
from ..observe import softmax as observe
from ..observe.run import Case

GIVEN = """
import math
import numpy as np
from autograder.beside.engine import Value
"""

SHIFTED = Tolerance(
    1e-9,
    1e-11,
    "near 1000 a double is exact to 1e-13 only, so that another order of the same steps moves a probability by as much",
)


def _draw_logits(random: Random, size: int, middle: float = 0.0) -> list[float]:
    """Logits that all differ by at least 0.3, around `middle`, and whose sum is not 0."""
    steps = [round(random.uniform(0.3, 1.2), 1) for _ in range(size)]
    ladder = [round(middle - 1 + sum(steps[: k + 1]), 1) for k in range(size)]
    return random.sample(ladder, size)


USUAL, HIGH, LOW, WIDE = (
    "the list of probabilities",
    "the list of probabilities of logits near 1000",
    "the list of probabilities of logits near -1000",
    "the list of probabilities of logits far apart",
)


def _draw_softmax(random: Random) -> Iterator[Case]:
    for size in (2, 3, 5):
        yield {"about": USUAL, "logits": _draw_logits(random, size)}
    yield {"about": HIGH, "logits": _draw_logits(random, 3, 1000.0)}
    yield {"about": LOW, "logits": _draw_logits(random, 4, -1000.0)}


softmax_reference = """
def softmax(logits):
    m = max(logits)
    powers = [math.exp(z - m) for z in logits]
    total = sum(powers)
    return [power / total for power in powers]
"""

PROBABILITIES = Exercise(
    id="softmax-probabilities",
    points=3,
    call="softmax({logits})",
    observe=observe.probabilities,
    reference=softmax_reference,
    parts={
        USUAL: "e to the power of each logit, divided by the sum of all those powers",
        HIGH: "what is subtracted before exp: with the largest logit, no power exceeds 1",
        LOW: "what is subtracted before exp: with the largest logit, one power is exactly 1",
        WIDE: "what is subtracted before exp: it has to be the largest logit itself",
    },
    lesson=[
        {"about": USUAL, "logits": [2.0, 1.0, 0.1]},
        {"about": USUAL, "logits": [0.5, 0.5]},
        {"about": WIDE, "logits": [-1000.0, 1000.0, 0.0]},
        {"about": WIDE, "logits": [1000.0, 0.0, -1000.0]},
        {"about": WIDE, "logits": [600.0, -600.0, 600.0]},
        {"about": WIDE, "logits": [400.0, -400.0]},
    ],
    draw=_draw_softmax,
    tolerance=SHIFTED,
    variants={
        "array": """
def softmax(logits):
    z = np.array(logits)
    powers = np.exp(z - z.max())
    return powers / powers.sum()
""",
        "through the logarithm": """
def softmax(logits):
    m = np.max(logits)
    log_total = m + math.log(sum(math.exp(z - m) for z in logits))
    return tuple(math.exp(z - log_total) for z in logits)
""",
        "loop": """
def softmax(logits):
    largest = logits[0]
    for z in logits:
        if z > largest:
            largest = z
    powers, total = [], 0.0
    for z in logits:
        power = math.e ** (z - largest)
        powers.append(power)
        total += power
    for i in range(len(powers)):
        powers[i] /= total
    return powers
""",
        "one over the sum of differences": """
def softmax(logits):
    def one(z):
        if max(logits) - z > 700:
            return 0.0
        return 1 / sum(math.exp(other - z) for other in logits)
    return [one(z) for z in logits]
""",
    },
    mistakes=[
        Mistake(
            "unstable",
            edited(softmax_reference, "math.exp(z - m)", "math.exp(z)"),
            "Without subtracting the largest logit, exp(1000) is too large for a number. "
            "Subtract max(logits) from every logit first: the probabilities stay the same.",
        ),
        Mistake(
            "unstable-array",
            """
def softmax(logits):
    with np.errstate(all="ignore"):
        powers = np.exp(np.array(logits))
        return powers / powers.sum()
""",
            "Without subtracting the largest logit, np.exp(1000) is inf, and inf / inf is nan; np.exp(-1000) is 0, and "
            "0 / 0 is nan, too. Subtract the largest logit from every logit first.",
        ),
        Mistake(
            "subtracts-mean",
            edited(softmax_reference, "m = max(logits)", "m = sum(logits) / len(logits)"),
            "The mean is subtracted. That helps when all logits are alike, but one far above the mean still "
            "overflows. Subtract the largest.",
        ),
        Mistake(
            "subtracts-first",
            edited(softmax_reference, "m = max(logits)", "m = logits[0]"),
            "The first logit is subtracted. If a later one is larger by 1000, exp overflows. Subtract the largest.",
        ),
        Mistake(
            "subtracts-min",
            edited(softmax_reference, "m = max(logits)", "m = min(logits)"),
            "The smallest logit is subtracted, which leaves large numbers for exp. Subtract the largest.",
        ),
        Mistake(
            "subtracts-size",
            edited(softmax_reference, "m = max(logits)", "m = max(abs(z) for z in logits)"),
            "The largest absolute value is subtracted. With logits near -1000 all powers are then 0, and 0 / 0 follows. "
            "Subtract the largest logit, with its sign.",
        ),
        Mistake(
            "adds-maximum",
            edited(softmax_reference, "z - m", "z + m"),
            "The largest logit is added. Subtract it, so that no power exceeds 1.",
        ),
        Mistake(
            "not-divided",
            edited(softmax_reference, "power / total for", "power for"),
            "These are the powers alone, or the powers divided by the largest of them. Divide each by their sum, so that they add up to 1.",
        ),
        Mistake(
            "sum-unshifted",
            edited(softmax_reference, "sum(powers)", "sum(math.exp(z) for z in logits)"),
            "The largest logit is subtracted above the line, but not below. Divide by the sum of the very powers that you computed.",
        ),
        Mistake(
            "base-2",
            edited(softmax_reference, "math.exp(z - m)", "2.0 ** (z - m)"),
            "These are powers of 2. The softmax takes powers of e: math.exp.",
        ),
        Mistake(
            "no-exp",
            edited(softmax_reference, "math.exp(z - m)", "z"),
            "The logits themselves are divided by their sum. Take e to the power of each first: logits may be negative, probabilities not.",
        ),
        Mistake(
            "winner-takes-all",
            "def softmax(logits):\n    return [float(z == max(logits)) for z in logits]\n",
            "All goes to the largest logit. The softmax is soft: each gets a share by its power of e.",
        ),
        Mistake(
            "logarithms",
            edited(softmax_reference, "power / total for", "math.log(max(power / total, 1e-300)) for"),
            "These are the logarithms of the probabilities. Return the probabilities themselves.",
        ),
        Mistake(
            "rounded",
            edited(softmax_reference, "power / total for", "round(power / total, 4) for"),
            "The probabilities are rounded to four places. Return them as they are.",
        ),
        Mistake(
            "softmin",
            edited(softmax_reference, "math.exp(z - m)", "math.exp(min(logits) - z)"),
            "The smallest logit gets the largest probability: the exponent has the wrong sign.",
        ),
    ],
)

LOSS, FAR = "the loss", "the loss where the target's probability is too small for a number"


def _draw_loss(random: Random) -> Iterator[Case]:
    for size in (2, 3, 4):
        yield {"about": LOSS, "logits": _draw_logits(random, size), "target": random.randrange(size)}
    yield {"about": LOSS, "logits": _draw_logits(random, 3, 1000.0), "target": 0}
    yield {"about": LOSS, "logits": _draw_logits(random, 3, -1000.0), "target": 2}
    low, high = -random.randint(800, 2000), random.randint(10, 90)
    yield {"about": FAR, "logits": [high, low, high - 1], "target": 1}


loss_reference = """
def cross_entropy(logits, target):
    m = max(logits)
    return m - logits[target] + math.log(sum(math.exp(z - m) for z in logits))
"""

_BY_PROBABILITY = """
def cross_entropy(logits, target):
    m = max(logits)
    powers = [math.exp(z - m) for z in logits]
    p = powers[target] / sum(powers)
    return -math.log(p)
"""

CROSS_ENTROPY = Exercise(
    id="softmax-loss",
    points=2,
    call="cross_entropy({logits}, {target})",
    observe=observe.cross_entropy,
    reference=loss_reference,
    parts={
        LOSS: "minus the natural logarithm of the probability at the index `target`",
        FAR: "the logarithm of 0: simplify -ln(e^z / sum) on paper, so that no probability is computed",
    },
    lesson=[
        {"about": LOSS, "logits": [2.0, 1.0, 0.1], "target": 0},
        {"about": LOSS, "logits": [2.0, 1.0, 0.1], "target": 2},
        {"about": FAR, "logits": [1000.0, 0.0, -1000.0], "target": 2},
    ],
    draw=_draw_loss,
    tolerance=Tolerance(
        1e-9, 1e-11, "near 1000 a double is exact to 1e-13 only, and sums and differences keep that error"
    ),
    variants={
        "array": """
def cross_entropy(logits, target):
    z = np.array(logits) - np.max(logits)
    return np.log(np.exp(z).sum()) - z[target]
""",
        "against the target": """
def cross_entropy(logits, target):
    return np.logaddexp.reduce(np.array(logits, dtype=float) - logits[target])
""",
        "in two steps": """
def cross_entropy(logits, target):
    largest = max(logits)
    total = 0.0
    for z in logits:
        total += math.exp(z - largest)
    log_p = (logits[target] - largest) - math.log(total)
    return -log_p
""",
    },
    mistakes=[
        Mistake(
            "log-of-zero",
            _BY_PROBABILITY,
            "Right for usual logits. But with logits 1000 apart the target's probability is rounded to 0, and 0 has no "
            "logarithm. Simplify on paper first: -ln(e^z / sum) is ln(sum) - z.",
        ),
        Mistake(
            "log-of-zero-array",
            """
def cross_entropy(logits, target):
    powers = np.exp(np.array(logits) - np.max(logits))
    with np.errstate(all="ignore"):
        return -np.log(powers[target] / powers.sum())
""",
            "Right for usual logits. But with logits 1000 apart the target's probability is rounded to 0, and the loss "
            "comes out as inf. Simplify on paper first: -ln(e^z / sum) is ln(sum) - z.",
        ),
        Mistake(
            "clipped",
            edited(_BY_PROBABILITY, "math.log(p)", "math.log(max(p, 1e-12))"),
            "The probability is kept above 1e-12, so every loss stops near 27.6. The true one goes on growing: for logits "
            "1000 apart it is 1000. Compute it from the logits: ln(sum) - z.",
        ),
        Mistake(
            "clipped-by-adding",
            edited(_BY_PROBABILITY, "math.log(p)", "math.log(p + 1e-9)"),
            "A small number is added to the probability. That avoids ln(0), but it makes every loss slightly wrong and "
            "the large ones very wrong. Compute the loss from the logits: ln(sum) - z.",
        ),
        Mistake(
            "unstable",
            """
def cross_entropy(logits, target):
    return math.log(sum(math.exp(z) for z in logits)) - logits[target]
""",
            "The simplified form is right, but exp(1000) overflows in it. Subtract the largest logit inside exp, and add it again outside the logarithm.",
        ),
        Mistake(
            "maximum-forgotten",
            edited(loss_reference, "m - logits[target]", "-logits[target]"),
            "The largest logit was subtracted inside exp, but not given back: ln(sum of e^z) is that largest logit plus the logarithm of the shifted sum.",
        ),
        Mistake(
            "base-2",
            edited(loss_reference, "math.log(sum", "math.log2(sum")
            .replace("m - logits", "(m - logits")
            .replace("target] +", "target]) / math.log(2) +"),
            "This is the loss in bits, by the logarithm to base 2. Here the natural logarithm is wanted: math.log.",
        ),
        Mistake(
            "base-10",
            edited(_BY_PROBABILITY, "-math.log(p)", "-math.log10(p)"),
            "This is the logarithm to base 10. Take the natural one: math.log.",
        ),
        Mistake(
            "plus",
            edited(_BY_PROBABILITY, "-math.log", "math.log"),
            "The minus is missing. The logarithm of a probability is negative, and the loss is its size.",
        ),
        Mistake(
            "probability",
            edited(_BY_PROBABILITY, "-math.log(p)", "p"),
            "This is the target's probability. The loss is minus its natural logarithm.",
        ),
        Mistake(
            "one-minus-p",
            edited(_BY_PROBABILITY, "-math.log(p)", "1 - p"),
            "1 - p also falls as p grows, but it is not the cross-entropy, which is -ln p: that one punishes a confident mistake without limit.",
        ),
        Mistake(
            "target-from-1",
            edited(loss_reference, "logits[target]", "logits[target - 1]"),
            "The target is taken one place too early: indices count from 0, so `logits[target]` is the target's logit.",
        ),
        Mistake(
            "first-always",
            edited(loss_reference, "logits[target]", "logits[0]"),
            "The loss is always that of the first token. Use the argument `target`.",
        ),
        Mistake(
            "largest-always",
            edited(loss_reference, "m - logits[target] + ", ""),
            "This is the loss of the most probable token, whichever it is. It must be that of the token `target`.",
        ),
    ],
)

NEAR = " of logits near 1000"


def _draw_engine(random: Random) -> Iterator[Case]:
    for size, target in ((2, 1), (3, 2), (4, 1)):
        yield {
            "about": "",
            "logits": _draw_logits(random, size),
            "target": target,
            "above": random.choice([2, -3, 0.5]),
        }
    yield {"about": NEAR, "logits": _draw_logits(random, 3, 1000.0), "target": 1, "above": 2}
    yield {"about": NEAR, "logits": _draw_logits(random, 3, -1000.0), "target": 2, "above": 0.5}


engine_reference = """
def softmax_loss(z, target):
    m = max(v.data for v in z)
    total = sum((v - m).exp() for v in z)
    return total.log() - (z[target] - m)
"""

_LOSS_BY_STEPS = """
def softmax_loss(z, target):
    m = max(v.data for v in z)
    powers = [(v - m).exp() for v in z]
    total = sum(powers)
    p = powers[target] / total
    return -p.log()
"""


def _engine_call(case: Case) -> str:
    call = f"softmax_loss(z, {case['target']}) with Values z of {case['logits']}"
    return call if case["above"] == 1 else f"{call}, and (loss * {case['above']}).backward()"


ENGINE = Exercise(
    id="softmax-engine",
    points=3,
    call=_engine_call,
    observe=observe.loss_of_values,
    reference=engine_reference,
    parts={
        "the loss": "the steps in turn: subtract the largest, exp, sum, divide, log, minus",
        "the gradient": "whether every step is taken with Values: no math.exp, no .data but for the maximum",
        f"the loss{NEAR}": "the largest logit, a plain number, which is subtracted before exp",
        f"the gradient{NEAR}": "the largest logit, a plain number, which is subtracted before exp",
    },
    lesson=[{"about": "", "logits": [2.0, 1.0, 0.1], "target": 0, "above": 1}],
    draw=_draw_engine,
    tolerance=SHIFTED,
    variants={
        "in the lesson's steps": _LOSS_BY_STEPS,
        "the maximum as a Value": """
def softmax_loss(z, target):
    largest = z[0]
    for v in z:
        if v.data > largest.data:
            largest = v
    total = Value(0.0)
    for v in z:
        total = total + (v - largest).exp()
    return largest + total.log() - z[target]
""",
        "against the target": """
def softmax_loss(z, target):
    return sum((v - z[target]).exp() for v in z).log()
""",
        "powers of the total": """
def softmax_loss(z, target):
    m = sorted(v.data for v in z)[-1]
    shifted = [v + (-m) for v in z]
    total = 0
    for v in shifted:
        total += v.exp()
    return (shifted[target].exp() * total ** -1).log() * -1
""",
    },
    mistakes=[
        Mistake(
            "unstable",
            edited(_LOSS_BY_STEPS, "(v - m).exp()", "v.exp()"),
            "Without subtracting the largest logit, exp overflows near 1000, and near -1000 all powers are 0. Subtract "
            "the largest logit's number from each Value first.",
        ),
        Mistake(
            "detached",
            """
def softmax_loss(z, target):
    numbers = [v.data for v in z]
    m = max(numbers)
    total = sum(math.exp(v - m) for v in numbers)
    return Value(math.log(total) - (numbers[target] - m))
""",
            "The loss is right, but it was computed from `.data` and put into a new Value, which knows nothing of z: no "
            "gradient gets back. Take every step with the Values themselves.",
        ),
        Mistake(
            "half-detached",
            edited(
                engine_reference, "sum((v - m).exp() for v in z)", "Value(sum((v - m).exp().data for v in z))"
            ),
            "The sum is computed from `.data`, so no gradient flows back through it. Add up the Values themselves.",
        ),
        Mistake(
            "writes-gradients",
            """
def softmax_loss(z, target):
    m = max(v.data for v in z)
    powers = [math.exp(v.data - m) for v in z]
    for i, v in enumerate(z):
        v.grad = powers[i] / sum(powers) - (i == target)
    return Value(-math.log(powers[target] / sum(powers)))
""",
            "The gradients are written into z by a formula, whatever the loss is used for afterwards. Build the loss from the "
            "Values' operators, and leave the gradients to backward().",
        ),
        Mistake(
            "plain-number",
            """
def softmax_loss(z, target):
    m = max(v.data for v in z)
    return math.log(sum(math.exp(v.data - m) for v in z)) - (z[target].data - m)
""",
            "A plain number came back, which has no gradient. Build the loss with the Values' own operators, .exp() and .log().",
        ),
        Mistake(
            "plus",
            edited(_LOSS_BY_STEPS, "-p.log()", "p.log()"),
            "The minus is missing: the loss is minus the logarithm of the probability.",
        ),
        Mistake(
            "probability",
            edited(_LOSS_BY_STEPS, "-p.log()", "p"),
            "This is the target's probability. The loss is minus its logarithm.",
        ),
        Mistake(
            "first-always",
            edited(_LOSS_BY_STEPS, "powers[target]", "powers[0]"),
            "The loss is always that of the first token. Use the argument `target`.",
        ),
        Mistake(
            "target-from-1",
            edited(_LOSS_BY_STEPS, "powers[target]", "powers[target - 1]"),
            "The target is taken one place too early: indices count from 0.",
        ),
        Mistake(
            "all-tokens",
            edited(
                _LOSS_BY_STEPS,
                "    p = powers[target] / total\n    return -p.log()",
                "    return -sum((power / total).log() for power in powers)",
            ),
            "The losses of all tokens are added up. Only the target's probability counts.",
        ),
        Mistake(
            "mean",
            edited(_LOSS_BY_STEPS, "-p.log()", "-p.log() * (1 / len(z))"),
            "The loss is divided by the number of logits. There is one token to predict, hence one loss: nothing to average.",
        ),
        Mistake(
            "not-divided",
            edited(_LOSS_BY_STEPS, " / total", ""),
            "The power is not divided by the sum, so it is no probability, and the other logits get no gradient.",
        ),
        Mistake(
            "base-2",
            edited(_LOSS_BY_STEPS, "-p.log()", "-p.log() / math.log(2)"),
            "This is the loss in bits. Here the natural logarithm is wanted, as .log() gives it.",
        ),
    ],
)

SLOPES, SLOPES_FAR = "the gradient", "the gradient of logits near 1000 or -1000"


def _draw_gradient(random: Random) -> Iterator[Case]:
    for size, target in ((2, 1), (3, 2), (4, 1), (5, 3)):
        yield {"about": SLOPES, "logits": _draw_logits(random, size), "target": target}
    yield {"about": SLOPES_FAR, "logits": _draw_logits(random, 3, 1000.0), "target": 1}
    yield {"about": SLOPES_FAR, "logits": _draw_logits(random, 3, -1000.0), "target": 2}


gradient_reference = """
def softmax_gradient(logits, target):
    m = max(logits)
    powers = [math.exp(z - m) for z in logits]
    return [power / sum(powers) - (i == target) for i, power in enumerate(powers)]
"""

GRADIENT = Exercise(
    id="softmax-gradient",
    points=2,
    call="softmax_gradient({logits}, {target})",
    observe=observe.gradient,
    reference=gradient_reference,
    parts={
        SLOPES: "the probabilities, and where the 1 is subtracted",
        SLOPES_FAR: "the probabilities: take them from your stable softmax",
    },
    lesson=[
        {"about": SLOPES, "logits": [2.0, 1.0, 0.1], "target": 0},
        {"about": SLOPES, "logits": [0.0, 0.0], "target": 1},
    ],
    draw=_draw_gradient,
    tolerance=SHIFTED,
    variants={
        "by softmax": """
def softmax_gradient(logits, target):
    gradient = list(softmax(logits))
    gradient[target] -= 1
    return gradient
""",
        "one-hot": """
def softmax_gradient(logits, target):
    y = np.zeros(len(logits))
    y[target] = 1
    return np.array(softmax(logits)) - y
""",
        "by the engine": """
def softmax_gradient(logits, target):
    z = [Value(logit) for logit in logits]
    softmax_loss(z, target).backward()
    return tuple(v.grad for v in z)
""",
    },
    mistakes=[
        Mistake(
            "y-minus-p",
            edited(
                gradient_reference,
                "power / sum(powers) - (i == target)",
                "(i == target) - power / sum(powers)",
            ),
            "The signs are turned round: the gradient is p - y. With y - p, descent would lower the right logit.",
        ),
        Mistake(
            "probabilities",
            edited(gradient_reference, " - (i == target)", ""),
            "These are the probabilities. Subtract 1 at the target.",
        ),
        Mistake(
            "target-only",
            edited(
                gradient_reference,
                "power / sum(powers) - (i == target)",
                "(power / sum(powers) - 1) * (i == target)",
            ),
            "Only the target has a gradient here. The others get one, too: raising a wrong logit takes probability from the right one.",
        ),
        Mistake(
            "one-everywhere",
            edited(gradient_reference, "(i == target)", "1"),
            "1 is subtracted from every probability. The one-hot target is 1 in one place and 0 in all others.",
        ),
        Mistake(
            "one-minus-p",
            edited(
                gradient_reference,
                "power / sum(powers) - (i == target)",
                "abs(power / sum(powers) - (i == target))",
            ),
            "At the target the sign is wrong: p - 1 is negative, so that descent raises the right logit.",
        ),
        Mistake(
            "first-always",
            edited(gradient_reference, "i == target", "i == 0"),
            "The 1 is always subtracted from the first probability. Use the argument `target`.",
        ),
        Mistake(
            "target-from-1",
            edited(gradient_reference, "i == target", "i == target - 1"),
            "The 1 is subtracted one place too early: indices count from 0.",
        ),
        Mistake(
            "logits-minus-target",
            edited(gradient_reference, "power / sum(powers)", "logits[i]"),
            "The target is subtracted from the logits. Subtract it from the probabilities.",
        ),
        Mistake(
            "mean",
            edited(
                gradient_reference,
                "power / sum(powers) - (i == target)",
                "(power / sum(powers) - (i == target)) / len(logits)",
            ),
            "The gradient is divided by the number of logits. There is one loss here, and nothing to average.",
        ),
        Mistake(
            "diagonal",
            edited(
                gradient_reference,
                "power / sum(powers) - (i == target)",
                "power / sum(powers) * (1 - power / sum(powers))",
            ),
            "p * (1 - p) is how a probability changes with its own logit. The gradient of the loss goes on through the logarithm, and comes out as p - y.",
        ),
        Mistake(
            "by-the-probability",
            edited(
                gradient_reference,
                "power / sum(powers) - (i == target)",
                "-sum(powers) / power if i == target else 0.0",
            ),
            "This is the derivative by the probability, -1/p. Go on through the softmax, to the logits.",
        ),
        Mistake(
            "unstable",
            edited(gradient_reference, "max(logits)", "0"),
            "The probabilities overflow for logits near 1000. Take them from your stable softmax.",
        ),
        Mistake(
            "by-steps",
            """
def softmax_gradient(logits, target):
    def loss(zs):
        m = max(zs)
        return math.log(sum(math.exp(z - m) for z in zs)) - (zs[target] - m)
    h, slopes = 1e-3, []
    for i in range(len(logits)):
        up, down = list(logits), list(logits)
        up[i] += h
        down[i] -= h
        slopes.append((loss(up) - loss(down)) / (2 * h))
    return slopes
""",
            "These are central differences: close, but only estimates. The formula is exact, and needs nothing but the probabilities.",
        ),
    ],
)

HAND = Exercise(
    id="softmax-by-hand",
    points=1,
    call="",
    observe=observe.by_hand,
    reference="hand_gradient = (0.1, -0.3, 0.2)\n",
    parts={"`hand_gradient`": "the probabilities minus the one-hot target, which is 1 for the second token"},
    lesson=[{}],
    draw=no_draw,
    tolerance=Tolerance(0.0, 1e-9, "0.7 - 1 is off by rounding"),
    variants={
        "list": "hand_gradient = [0.1, 0.7 - 1, 0.2]\n",
        "array": "hand_gradient = np.array([0.1, 0.7, 0.2]) - np.array([0, 1, 0])\n",
    },
    mistakes=[
        Mistake(
            "signs",
            "hand_gradient = (-0.1, 0.3, -0.2)\n",
            "The signs are turned round: it is the probabilities minus the target.",
        ),
        Mistake(
            "first-right",
            "hand_gradient = (0.1 - 1, 0.7, 0.2)\n",
            "Here the first token counts as the right one. It is the second.",
        ),
        Mistake(
            "third-right",
            "hand_gradient = (0.1, 0.7, -0.8)\n",
            "Here the third token counts as the right one. It is the second.",
        ),
        Mistake(
            "probabilities",
            "hand_gradient = (0.1, 0.7, 0.2)\n",
            "These are the probabilities. The target has not been subtracted.",
        ),
        Mistake(
            "size",
            "hand_gradient = (0.1, 0.3, 0.2)\n",
            "At the right token the gradient is 0.7 - 1: mind the sign.",
        ),
    ],
    asks="values",
)

CERTAIN = Exercise(
    id="softmax-certain",
    points=1,
    call="",
    observe=observe.certain,
    reference="certain_gradient = (0.0, 0.0, 0.0)\n",
    parts={"`certain_gradient`": "three numbers, each the probability minus the target"},
    lesson=[{}],
    draw=no_draw,
    tolerance=Tolerance(0.0, 1e-9, "the same steps as by hand"),
    variants={
        "list": "certain_gradient = [1 - 1, 0 - 0, 0 - 0]\n",
        "array": "certain_gradient = np.array([1.0, 0.0, 0.0]) - np.array([1, 0, 0])\n",
    },
    mistakes=[
        Mistake(
            "probabilities",
            "certain_gradient = (1.0, 0.0, 0.0)\n",
            "These are the probabilities. Subtract the target, which is 1 in the first place, too.",
        ),
        Mistake(
            "minus-one",
            "certain_gradient = (-1.0, 0.0, 0.0)\n",
            "At the first place it is the probability, 1, minus the target, 1.",
        ),
        Mistake(
            "wrong-ones",
            "certain_gradient = (0.0, -1.0, -1.0)\n",
            "At the wrong tokens the target is 0, and so is the probability.",
        ),
        Mistake(
            "one-number",
            "certain_gradient = 0.0\n",
            "The gradient has one entry for each of the three logits.",
        ),
    ],
    asks="values",
)

NOTEBOOK = Notebook("05-softmax", GIVEN, (PROBABILITIES, CROSS_ENTROPY, ENGINE, GRADIENT, HAND, CERTAIN))
