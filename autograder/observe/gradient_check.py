"""Observations of 04-gradient-check."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from .plain import NotPlain
from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]


def monomials(terms: list[list[Any]]) -> Callable[[list[Any]], Any]:
    """point -> the sum of c * x0**k0 * x1**k1 ... over the `[c, [k0, k1, ...]]` of `terms`.

    The entries of the point may be numbers or Values.
    """
    return lambda point: sum(
        c * math.prod(x**k for x, k in zip(point, powers, strict=True)) for c, powers in terms
    )


def number_of(answer: Any, names: Namespace) -> Any:
    """The number of a Value; anything else is refused with words for the student."""
    if not isinstance(answer, names["Value"]):
        kind = type(answer).__name__
        raise NotPlain(f"a {kind} came back where a Value was wanted: build it with the operators of Value")
    return answer.data


def leak(value: Any, amount: float, names: Namespace) -> Any:
    """A node that adds 0 to a sum and yet passes `amount` times its gradient on to `value`: a fault."""
    out = names["Value"](0.0, (value,), "leak")

    def _backward() -> None:
        value.grad += amount * out.grad

    out._backward = _backward
    return out


def leaky(case: Case, names: Namespace) -> Callable[[list[Any]], Any]:
    """The case's polynomial, with gradients that are wrong by the case's `leaks`."""
    polynomial = monomials(case["terms"])

    def f(values: list[Any]) -> Any:
        leaks = zip(values, case["leaks"], strict=True)
        return sum((leak(v, amount, names) for v, amount in leaks if amount), polynomial(values))

    return f


def central(names: Namespace, case: Case) -> Seen:
    values = list(case["values"])
    step = {} if case["h"] is None else {"h": case["h"]}
    yield (
        "the central difference",
        names["central_difference"](monomials(case["terms"]), values, case["i"], **step),
    )
    yield "the values afterwards", values


def neuron(names: Namespace, case: Case) -> Seen:
    inputs = [names["Value"](x) for x in case["inputs"]]
    output = names["neuron"](*inputs)
    yield "the output", number_of(output, names)
    output.backward()
    yield "the gradient by the weights and the bias", [one.grad for one in inputs[:3]]
    yield "the gradient by the inputs x1 and x2", [one.grad for one in inputs[3:]]


def gradient_error(names: Namespace, case: Case) -> Seen:
    step = {} if case["h"] is None else {"h": case["h"]}
    error = names["gradient_error"](leaky(case, names), list(case["values"]), **step)
    yield (
        ("the error of a right gradient" if not any(case["leaks"]) else "the error of a wrong gradient"),
        error,
    )


def suspects(names: Namespace, case: Case) -> Seen:
    build = names["build_engine"]
    engines = {name: build(names["Value"], rule) for name, rule in case["engines"]}
    yield case["about"], names["find_broken"](engines)


def step(names: Namespace, case: Case) -> Seen:
    yield "`best_h`", names["best_h"]


def relu(names: Namespace, case: Case) -> Seen:
    yield "`relu_gradients`", names["relu_gradients"]
