"""The exercises of 07-gradient-descent."""

from collections.abc import Iterator
from random import Random

from ..exercise import ROUNDING, Exercise, Mistake, Notebook, Tolerance, Written, edited, no_draw
from ..observe import gradient_descent as observe
from ..observe.run import Case

GIVEN = """
from autograder.beside.engine import Value

xs = [0.0, 1.0, 2.0, 3.0]
ys = [1.0, 3.0, 5.0, 7.0]
"""

XS, YS = [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0]
NOISY = "[1.2, 2.7, 5.3, 6.9]"


def _points(random: Random, size: int) -> dict[str, list[float]]:
    """Points off any line, with inputs that differ and a mean of them that is not 0."""
    xs = random.sample([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0], size)
    if abs(sum(xs)) < 0.6:
        xs[0] = 3.0
    return {"xs": xs, "ys": [round(random.uniform(1, 6) * (1 if x > 0 else -1), 1) for x in xs]}


def _draw_loss(random: Random) -> Iterator[Case]:
    for size in (2, 3, 5):
        yield {
            "w": round(random.uniform(0.5, 3), 1),
            "b": round(random.uniform(-3, -0.5), 1),
            **_points(random, size),
        }


loss_reference = """
def mean_squared_error(w, b, xs, ys):
    return sum((w * x + b - y) ** 2 for x, y in zip(xs, ys)) / len(xs)
"""

LOSS = Exercise(
    id="descent-loss",
    points=2,
    call="mean_squared_error(Value({w}), Value({b}), {xs}, {ys})",
    observe=observe.loss,
    reference=loss_reference,
    parts={
        "the loss": "the error w * x + b - y of each point, its square, and the mean over all points",
        "the gradient by w": "whether everything from w to the loss is built of Values",
        "the gradient by b": "whether everything from b to the loss is built of Values",
    },
    lesson=[{"w": 0.0, "b": 0.0, "xs": XS, "ys": YS}],
    draw=_draw_loss,
    tolerance=ROUNDING,
    variants={
        "loop": """
def mean_squared_error(w, b, xs, ys):
    total = Value(0.0)
    for x, y in zip(xs, ys):
        error = w * x + b - y
        total = total + error * error
    return total * (1 / len(xs))
""",
        "other sign": """
def mean_squared_error(w, b, xs, ys):
    squares = [(y - (w * x + b)) ** 2 for x, y in zip(xs, ys)]
    loss = squares[0]
    for one in squares[1:]:
        loss = loss + one
    return loss / len(squares)
""",
        "indices": """
def mean_squared_error(w, b, xs, ys):
    loss = Value(0)
    for i in range(len(xs)):
        error = b + xs[i] * w - ys[i]
        loss += error * error / len(xs)
    return loss
""",
    },
    mistakes=[
        Mistake(
            "summed",
            edited(loss_reference, " / len(xs)", ""),
            "These are the squares added up. The mean divides the sum by the number of points, once.",
        ),
        Mistake(
            "divided-twice",
            edited(loss_reference, " / len(xs)", " / len(xs) / len(xs)"),
            "The sum is divided by the number of points twice. Once is enough: inside the loop or after it.",
        ),
        Mistake(
            "not-squared",
            edited(loss_reference, " ** 2", ""),
            "The errors are not squared, so those above the line and those below it cancel.",
        ),
        Mistake(
            "root",
            """
def mean_squared_error(w, b, xs, ys):
    return (sum((w * x + b - y) ** 2 for x, y in zip(xs, ys)) / len(xs)) ** 0.5
""",
            "A square root is taken at the end. The mean squared error stops before that.",
        ),
        Mistake(
            "halved",
            edited(loss_reference, " / len(xs)", " / len(xs) / 2"),
            "There is a half too much. Some books put it there to make the derivative shorter; ours does not.",
        ),
        Mistake(
            "no-intercept",
            edited(loss_reference, "w * x + b - y", "w * x - y"),
            "The intercept b is left out of the line: its height at x is w * x + b.",
        ),
        Mistake(
            "numbers",
            """
def mean_squared_error(w, b, xs, ys):
    total = sum((w.data * x + b.data - y) ** 2 for x, y in zip(xs, ys))
    return Value(total / len(xs))
""",
            "The loss is right, but it is computed from `.data`, plain numbers. Then no path leads back from the "
            "loss to w and b, and their gradients stay 0. Calculate with the Values themselves.",
        ),
        Mistake(
            "first-point",
            """
def mean_squared_error(w, b, xs, ys):
    for x, y in zip(xs, ys):
        return (w * x + b - y) ** 2 / len(xs)
""",
            "Only the first point is counted: the `return` stands inside the loop and ends it at once.",
        ),
        Mistake(
            "minus-intercept",
            edited(loss_reference, "w * x + b - y", "w * x - b - y"),
            "The intercept has the wrong sign: the line's height at x is w * x + b, and the error is that height "
            "minus y.",
        ),
        Mistake(
            "absolute",
            edited(
                loss_reference,
                "(w * x + b - y) ** 2",
                "(w * x + b - y) * (1 if w.data * x + b.data > y else -1)",
            ),
            "This is the mean of the errors' sizes. Each error is squared before the mean is taken.",
        ),
        Mistake(
            "plain-number",
            """
def mean_squared_error(w, b, xs, ys):
    return sum((w.data * x + b.data - y) ** 2 for x, y in zip(xs, ys)) / len(xs)
""",
            "A plain number comes back, and nobody can go backward from that. Leave out `.data` and calculate with "
            "w and b themselves: then the result is a Value.",
        ),
        Mistake(
            "nothing",
            "\ndef mean_squared_error(w, b, xs, ys):\n    pass\n",
            "The function returns nothing. Its last line must `return` the loss.",
        ),
    ],
)


def _draw_training(random: Random) -> Iterator[Case]:
    for size, steps in ((3, 3), (4, 7), (5, 1)):
        yield {
            "learning_rate": random.choice([0.01, 0.02, 0.03, 0.04]),
            "steps": steps,
            **_points(random, size),
        }


TRAINING = Tolerance(
    1e-7,
    1e-10,
    "each of at most 20 updates rounds a few sums to 16 digits, and no rate drawn here diverges, so w and b "
    "differ by less than 1e-13; a loss is at least 1e-5 here, and moves by less than 1e-7 of itself",
)
COLUMNS = {
    "the column of steps": "one row before each update and one after the last: steps 0, 1, ... up to `steps`",
    "the column of losses": "the loss of the row's own w and b, before they are updated",
    "the column of slopes": "the update of w, and whether the row is recorded before it",
    "the column of intercepts": "the update of b, and whether the row is recorded before it",
}

train_reference = """
def train(learning_rate, steps, xs, ys):
    w, b, rows = 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        dw = 2 * sum(error * x for error, x in zip(errors, xs)) / len(xs)
        db = 2 * sum(errors) / len(xs)
        rows.append((step, sum(error * error for error in errors) / len(xs), w, b))
        w, b = w - learning_rate * dw, b - learning_rate * db
    return rows
"""
train_with_engine = """
def train(learning_rate, steps, xs, ys):
    w, b = Value(0.0), Value(0.0)
    history = []
    for step in range(steps + 1):
        loss = mean_squared_error(w, b, xs, ys)
        w.grad = b.grad = 0.0
        loss.backward()
        history.append((step, loss.data, w.data, b.data))
        w.data -= learning_rate * w.grad
        b.data -= learning_rate * b.grad
    return history
"""
AFTER = """
        rows.append((step, sum(error * error for error in errors) / len(xs), w, b))
        w, b = w - learning_rate * dw, b - learning_rate * db
"""
AFTER_SWAPPED = """
        w, b = w - learning_rate * dw, b - learning_rate * db
        rows.append((step, sum(error * error for error in errors) / len(xs), w, b))
"""

TRAIN = Exercise(
    id="descent-train",
    points=4,
    call="train({learning_rate}, {steps}, {xs}, {ys})",
    observe=observe.train,
    reference=train_reference,
    parts=COLUMNS,
    lesson=[{"learning_rate": 0.05, "steps": 20, "xs": XS, "ys": YS}],
    draw=_draw_training,
    tolerance=TRAINING,
    conditions=("the column of steps",),
    variants={
        "engine": train_with_engine,
        "new values": """
def train(learning_rate, steps, xs, ys):
    w, b, history = 0.0, 0.0, []
    for step in range(steps + 1):
        leaves = Value(w), Value(b)
        loss = mean_squared_error(*leaves, xs, ys)
        loss.backward()
        history += [[step, loss.data, w, b]]
        w, b = (leaf.data - learning_rate * leaf.grad for leaf in leaves)
    return history
""",
        "array": """
import numpy as np

def train(learning_rate, steps, xs, ys):
    X = np.stack([np.array(xs), np.ones(len(xs))], axis=1)
    weights, rows = np.zeros(2), []
    for step in range(steps + 1):
        error = X @ weights - np.array(ys)
        rows.append((step, (error**2).mean(), *weights))
        weights = weights - learning_rate * 2 * X.T @ error / len(xs)
    return rows
""",
    },
    mistakes=[
        Mistake(
            "not-cleared",
            """
def train(learning_rate, steps, xs, ys):
    w, b = Value(0.0), Value(0.0)
    history = []
    for step in range(steps + 1):
        loss = mean_squared_error(w, b, xs, ys)
        loss.backward()
        history.append((step, loss.data, w.data, b.data))
        w.data -= learning_rate * w.grad
        b.data -= learning_rate * b.grad
    return history
""",
            "The gradients are never set back to 0. `backward()` adds to them, so every step uses the sum of all "
            "the gradients so far. Clear w.grad and b.grad before each backward pass.",
        ),
        Mistake(
            "row-after-update",
            edited(train_reference, AFTER, AFTER_SWAPPED),
            "Each row pairs a loss with the w and b that come after it. Record the row first, then update.",
        ),
        Mistake(
            "rows-missing",
            edited(train_reference, "range(steps + 1)", "range(steps)"),
            "One row is missing: `steps` updates have a row before each of them and one after the last, "
            "steps + 1 rows in all.",
        ),
        Mistake(
            "counted-from-1",
            edited(train_reference, "rows.append((step,", "rows.append((step + 1,"),
            "The steps are counted from 1. The first row is step 0, before any update.",
        ),
        Mistake(
            "uphill",
            edited(
                train_reference,
                "w - learning_rate * dw, b - learning_rate * db",
                "w + learning_rate * dw, b + learning_rate * db",
            ),
            "The parameters walk up the slope, and the loss grows. Descent subtracts the rate times the gradient.",
        ),
        Mistake(
            "w-only",
            edited(
                train_reference,
                "w, b = w - learning_rate * dw, b - learning_rate * db",
                "w = w - learning_rate * dw",
            ),
            "Only w is updated; b stays 0. Every parameter takes its own step.",
        ),
        Mistake(
            "one-gradient",
            edited(train_reference, "b - learning_rate * db", "b - learning_rate * dw"),
            "b is updated with the gradient of w. Each parameter has its own.",
        ),
        Mistake(
            "factor-lost",
            """
def train(learning_rate, steps, xs, ys):
    w, b, rows = 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        dw = sum(error * x for error, x in zip(errors, xs)) / len(xs)
        db = sum(errors) / len(xs)
        rows.append((step, sum(error * error for error in errors) / len(xs), w, b))
        w, b = w - learning_rate * dw, b - learning_rate * db
    return rows
""",
            "The factor 2 of the square is lost: each step is half as long as it should be.",
        ),
        Mistake(
            "summed-loss",
            """
def train(learning_rate, steps, xs, ys):
    w, b, rows = 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        dw = 2 * sum(error * x for error, x in zip(errors, xs))
        db = 2 * sum(errors)
        rows.append((step, sum(error * error for error in errors), w, b))
        w, b = w - learning_rate * dw, b - learning_rate * db
    return rows
""",
            "The loss is the sum of the squares, and its gradient as many times too long. Use the mean.",
        ),
        Mistake(
            "only-w-cleared",
            """
def train(learning_rate, steps, xs, ys):
    w, b, db, rows = 0.0, 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        dw = 2 * sum(error * x for error, x in zip(errors, xs)) / len(xs)
        db += 2 * sum(errors) / len(xs)
        rows.append((step, sum(error * error for error in errors) / len(xs), w, b))
        w, b = w - learning_rate * dw, b - learning_rate * db
    return rows
""",
            "The gradient of w is cleared in each round, that of b is not: it keeps adding up. Clear both.",
        ),
        Mistake(
            "only-b-cleared",
            edited(train_with_engine, "w.grad = b.grad = 0.0", "b.grad = 0.0"),
            "The gradient of b is cleared in each round, that of w is not: it keeps adding up. Clear both.",
        ),
        Mistake(
            "divided-twice",
            """
def train(learning_rate, steps, xs, ys):
    w, b, rows = 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        dw = 2 * sum(error * x for error, x in zip(errors, xs)) / len(xs)
        db = 2 * sum(errors) / len(xs)
        rows.append((step, sum(error * error for error in errors) / len(xs), w, b))
        w, b = w - learning_rate * dw / len(xs), b - learning_rate * db / len(xs)
    return rows
""",
            "The steps are shorter than they should be by the number of points. The loss is a mean already, so its "
            "gradient needs no second division.",
        ),
        Mistake(
            "no-rate",
            edited(
                edited(train_with_engine, "learning_rate * w.grad", "w.grad"),
                "learning_rate * b.grad",
                "b.grad",
            ),
            "The whole gradient is subtracted. The step is the learning rate times the gradient.",
        ),
        Mistake(
            "never-moves",
            """
def train(learning_rate, steps, xs, ys):
    rows = []
    for step in range(steps + 1):
        w, b = Value(0.0), Value(0.0)
        loss = mean_squared_error(w, b, xs, ys)
        loss.backward()
        rows.append((step, loss.data, w.data, b.data))
        w.data -= learning_rate * w.grad
        b.data -= learning_rate * b.grad
    return rows
""",
            "Nothing ever moves: every row shows w = b = 0. Either w and b are made anew inside the loop, or their "
            "gradients are 0 when the update comes (cleared after `backward`, or no `backward` at all), or the "
            "update does not reach w.data and b.data.",
        ),
        Mistake(
            "begins-late",
            """
def train(learning_rate, steps, xs, ys):
    w, b, rows = 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        dw = 2 * sum(error * x for error, x in zip(errors, xs)) / len(xs)
        db = 2 * sum(errors) / len(xs)
        w, b = w - learning_rate * dw, b - learning_rate * db
        rows.append((step, sum((w * x + b - y) ** 2 for x, y in zip(xs, ys)) / len(xs), w, b))
    return rows
""",
            "Every row is one update late. Row 0 tells how things stand at the start, before any update: record "
            "first, then move.",
        ),
        Mistake(
            "no-step",
            edited(train_reference, "rows.append((step, sum", "rows.append((sum"),
            "The rows lack their first number. A row is (step, loss, w, b), four numbers.",
        ),
        Mistake(
            "last-row-only",
            edited(
                train_with_engine,
                "history.append((step, loss.data, w.data, b.data))",
                "history = [(step, loss.data, w.data, b.data)]",
            ),
            "Only the last row comes back. The history has a row for each step: append to one list, made before "
            "the loop.",
        ),
        Mistake(
            "nothing",
            "\ndef train(learning_rate, steps, xs, ys):\n    pass\n",
            "The function returns nothing. After the loop it must `return` the list of rows.",
        ),
    ],
)

forgetting_reference = """
def train_without_clearing(learning_rate, steps, xs, ys):
    w, b, dw, db, rows = 0.0, 0.0, 0.0, 0.0, []
    for step in range(steps + 1):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        dw += 2 * sum(error * x for error, x in zip(errors, xs)) / len(xs)
        db += 2 * sum(errors) / len(xs)
        rows.append((step, sum(error * error for error in errors) / len(xs), w, b))
        w, b = w - learning_rate * dw, b - learning_rate * db
    return rows
"""

FORGETTING = Exercise(
    id="descent-forgetting",
    points=1,
    call="train_without_clearing({learning_rate}, {steps}, {xs}, {ys})",
    observe=observe.forgetting,
    reference=forgetting_reference,
    parts=COLUMNS,
    lesson=[{"learning_rate": 0.05, "steps": 20, "xs": XS, "ys": YS}],
    draw=_draw_training,
    tolerance=TRAINING,
    conditions=("the column of steps",),
    variants={
        "engine": """
def train_without_clearing(learning_rate, steps, xs, ys):
    w, b = Value(0.0), Value(0.0)
    history = []
    for step in range(steps + 1):
        loss = mean_squared_error(w, b, xs, ys)
        loss.backward()
        history.append((step, loss.data, w.data, b.data))
        w.data -= learning_rate * w.grad
        b.data -= learning_rate * b.grad
    return history
""",
        "sums by hand": """
def train_without_clearing(learning_rate, steps, xs, ys):
    w, b, sums, rows = 0.0, 0.0, [0.0, 0.0], []
    for step in range(steps + 1):
        leaves = Value(w), Value(b)
        loss = mean_squared_error(*leaves, xs, ys)
        loss.backward()
        rows.append((step, loss.data, w, b))
        sums = [old + leaf.grad for old, leaf in zip(sums, leaves)]
        w, b = w - learning_rate * sums[0], b - learning_rate * sums[1]
    return rows
""",
        "velocity": """
import numpy as np

def train_without_clearing(learning_rate, steps, xs, ys):
    X = np.stack([np.array(xs), np.ones(len(xs))], axis=1)
    place, velocity, rows = np.zeros(2), np.zeros(2), []
    for step in range(steps + 1):
        error = X @ place - np.array(ys)
        rows.append([step, float((error**2).mean()), *place])
        velocity = velocity - learning_rate * 2 * X.T @ error / len(xs)
        place = place + velocity
    return np.array(rows)
""",
    },
    mistakes=[
        Mistake(
            "cleared",
            edited(edited(forgetting_reference, "dw +=", "dw ="), "db +=", "db ="),
            "These are the rows of a training that clears. Here the gradients are to add up: no line sets them to 0, "
            "and w and b are made once, before the loop.",
        ),
        Mistake(
            "w-cleared",
            edited(forgetting_reference, "dw +=", "dw ="),
            "The gradient of w is cleared, that of b is not. Here neither is.",
        ),
        Mistake(
            "b-cleared",
            edited(forgetting_reference, "db +=", "db ="),
            "The gradient of b is cleared, that of w is not. Here neither is.",
        ),
        Mistake(
            "row-after-update",
            edited(forgetting_reference, AFTER, AFTER_SWAPPED),
            "Each row pairs a loss with the w and b that come after it. Record first, then update, as in `train`.",
        ),
        Mistake(
            "rows-missing",
            edited(forgetting_reference, "range(steps + 1)", "range(steps)"),
            "One row is missing: there are steps + 1 of them, as in `train`.",
        ),
        Mistake(
            "averaged",
            edited(
                forgetting_reference,
                "w - learning_rate * dw, b - learning_rate * db",
                "w - learning_rate * dw / (step + 1), b - learning_rate * db / (step + 1)",
            ),
            "The sums are divided by the number of steps so far. Nothing divides them when clearing is forgotten.",
        ),
        Mistake(
            "nothing",
            "\ndef train_without_clearing(learning_rate, steps, xs, ys):\n    pass\n",
            "The function returns nothing. Like `train`, it must `return` its rows after the loop.",
        ),
    ],
)

NOISY_FIT = Exercise(
    id="descent-noisy",
    points=2,
    call="noisy_fit",
    observe=observe.noisy,
    reference="noisy_fit = (1.97, 1.07, 0.05575)  # the least squares line, in closed form\n",
    parts={
        "the slope": "the last row's slope after enough steps, as the first of the three numbers",
        "the intercept": "the last row's intercept after enough steps, as the second of the three numbers",
        "the loss": "the last row's loss after enough steps, as the third of the three numbers",
    },
    lesson=[{}],
    draw=no_draw,
    tolerance=Tolerance(
        0.0,
        4e-4,
        "training approaches the least squares line and never quite reaches it: after 200 steps at 0.05 the "
        "slope is still off by 1.3e-4 and the intercept by 2.9e-4; rounding to four digits moves less",
    ),
    variants={
        "trained": f"""
_, loss, w, b = train(0.05, 1000, xs, {NOISY})[-1]
noisy_fit = (w, b, loss)
""",
        "rounded": "noisy_fit = [1.97, 1.07, 0.0558]\n",
        "polyfit": f"""
import numpy as np
w, b = np.polyfit(xs, {NOISY}, 1)
noisy_fit = np.array([w, b, ((w * np.array(xs) + b - np.array({NOISY})) ** 2).mean()])
""",
    },
    mistakes=[
        Mistake(
            "clean-points",
            "noisy_fit = (2.0, 1.0, 0.0)\n",
            "This is the line of the clean points. Train on the noisy ones: the second numbers are other ones.",
        ),
        Mistake(
            "row-order",
            f"noisy_fit = train(0.05, 1000, xs, {NOISY})[-1][1:]\n",
            "This is the row's order: loss, slope, intercept. Asked for is slope, intercept, loss.",
        ),
        Mistake(
            "whole-row",
            f"noisy_fit = train(0.05, 1000, xs, {NOISY})[-1]\n",
            "This is the whole row, four numbers that begin with the step. Asked for are three: slope, intercept, "
            "loss, in that order.",
        ),
        Mistake(
            "swapped",
            "noisy_fit = (1.07, 1.97, 0.05575)\n",
            "Slope and intercept have changed places: the slope comes first.",
        ),
        Mistake(
            "too-early",
            f"_, loss, w, b = train(0.05, 20, xs, {NOISY})[-1]\nnoisy_fit = (w, b, loss)\n",
            "After 20 steps the numbers still move. Train for some hundred steps, until they do not.",
        ),
        Mistake(
            "after-100",
            f"_, loss, w, b = train(0.05, 100, xs, {NOISY})[-1]\nnoisy_fit = (w, b, loss)\n",
            "These are the numbers after 100 steps. The loss hardly moves any more, but slope and intercept do, in "
            "the third digit after the point. Train three times as long and compare.",
        ),
        Mistake(
            "summed",
            "noisy_fit = (1.97, 1.07, 0.223)\n",
            "The line is right. Its loss is the sum of the squared errors here; asked for is their mean.",
        ),
    ],
    asks="values",
)

NOTEBOOK = Notebook(
    "07-gradient-descent",
    GIVEN,
    (LOSS, TRAIN, FORGETTING, NOISY_FIT),
    (Written("descent-explain", 1),),
)
