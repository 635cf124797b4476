"""Observations of 06-matrix-product."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .plain import NotPlain, plain
from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]


def cubic(weights: list[Any]) -> Callable[[np.ndarray], float]:
    """V -> the sum of weights * V**3, plus the square of the sum of V; other shapes are refused."""
    c = np.array(weights, dtype=float)

    def loss(v: np.ndarray) -> float:
        if np.shape(v) != c.shape:
            raise ValueError(f"the loss got an array of shape {np.shape(v)} in the place of {c.shape}")
        return float((c * v**3).sum() + v.sum() ** 2)

    return loss


def shapes(names: Namespace, case: Case) -> Seen:
    answer = plain(names["product_shapes"](tuple(case["x_shape"]), tuple(case["w_shape"])))
    if not isinstance(answer, list) or len(answer) != 3:
        raise NotPlain(
            f"{repr(answer)[:80]} came back, where three shapes were wanted: of Y, of dW and of dX"
        )
    for name, shape in zip(("Y", "dW", "dX"), answer, strict=True):
        yield f"the shape of {name}", shape


def weight_gradient(names: Namespace, case: Case) -> Seen:
    yield "dW", names["weight_gradient"](np.array(case["X"]), np.array(case["dY"]))


def input_gradient(names: Namespace, case: Case) -> Seen:
    yield "dX", names["input_gradient"](np.array(case["dY"]), np.array(case["W"]))


def numeric_gradient(names: Namespace, case: Case) -> Seen:
    w = np.array(case["W"])
    step = {} if case["h"] is None else {"h": case["h"]}
    yield "the gradient", names["numeric_gradient"](cubic(case["C"]), w, **step)
    yield "W afterwards", w


def error(names: Namespace, case: Case) -> Seen:
    yield "`largest_error`", names["largest_error"]


def objects(names: Namespace, case: Case) -> Seen:
    yield "the count", names["scalar_products"](case["n"], case["d"], case["k"])
