"""Observations of 07-gradient-descent."""

from collections.abc import Iterator
from typing import Any

from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]


def loss(names: Namespace, case: Case) -> Seen:
    w, b = names["Value"](case["w"]), names["Value"](case["b"])
    result = names["mean_squared_error"](w, b, list(case["xs"]), list(case["ys"]))
    yield "the loss", result.data
    result.backward()
    yield "the gradient by w", w.grad
    yield "the gradient by b", b.grad


def rows(history: Any) -> Seen:
    """The columns of a training's history, one part each."""
    history = [list(row) for row in history]
    for column, name in enumerate(("steps", "losses", "slopes", "intercepts")):
        yield f"the column of {name}", [row[column] for row in history]


def train(names: Namespace, case: Case) -> Seen:
    points = list(case["xs"]), list(case["ys"])
    yield from rows(names["train"](case["learning_rate"], case["steps"], *points))


def forgetting(names: Namespace, case: Case) -> Seen:
    points = list(case["xs"]), list(case["ys"])
    yield from rows(names["train_without_clearing"](case["learning_rate"], case["steps"], *points))


def noisy(names: Namespace, case: Case) -> Seen:
    slope, intercept, loss = names["noisy_fit"]
    yield "the slope", slope
    yield "the intercept", intercept
    yield "the loss", loss
