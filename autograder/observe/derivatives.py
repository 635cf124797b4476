"""Observations of 01-derivatives."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]


def polynomial(terms: list[list[float]]) -> Callable[[float], float]:
    """x -> the sum of c * x**k over the `[c, k]` of `terms`."""
    return lambda x: sum(c * x**k for c, k in terms)


def monomials(terms: list[list[Any]]) -> Callable[[list[float]], float]:
    """point -> the sum of c * x0**k0 * x1**k1 ... over the `[c, [k0, k1, ...]]` of `terms`."""
    return lambda point: sum(
        c * math.prod(x**k for x, k in zip(point, powers, strict=True)) for c, powers in terms
    )


def quotient(names: Namespace, case: Case) -> Seen:
    f = polynomial(case["terms"])
    yield "the quotient", names["difference_quotient"](f, case["x"], case["h"])


def square(names: Namespace, case: Case) -> Seen:
    yield "the slope", names["d_square"](case["x"])


def rise(names: Namespace, case: Case) -> Seen:
    yield "`rise`", names["rise"]


def gradient(names: Namespace, case: Case) -> Seen:
    point = list(case["point"])
    yield "the gradient", names["gradient"](monomials(case["terms"]), point)
    yield "the point afterwards", point


def direction(names: Namespace, case: Case) -> Seen:
    yield "`moves`", names["moves"]


def step(names: Namespace, case: Case) -> Seen:
    parameters, slopes = list(case["parameters"]), list(case["gradient"])
    yield "the new parameters", names["descend"](parameters, slopes, case["learning_rate"])
    yield "the arguments afterwards", [parameters, slopes]
