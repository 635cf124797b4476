"""Observations of 05-softmax."""

from collections.abc import Iterator
from typing import Any

from .plain import NotPlain
from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]


def probabilities(names: Namespace, case: Case) -> Seen:
    yield case["about"], names["softmax"](list(case["logits"]))


def cross_entropy(names: Namespace, case: Case) -> Seen:
    yield case["about"], names["cross_entropy"](list(case["logits"]), case["target"])


def loss_of_values(names: Namespace, case: Case) -> Seen:
    z = [names["Value"](logit) for logit in case["logits"]]
    loss = names["softmax_loss"](z, case["target"])
    if not isinstance(loss, names["Value"]):
        kind = type(loss).__name__
        raise NotPlain(
            f"a {kind} came back where a Value was wanted: build the loss with the operators of Value"
        )
    yield f"the loss{case['about']}", loss.data
    (loss * case["above"]).backward()
    yield f"the gradient{case['about']}", [one.grad for one in z]


def gradient(names: Namespace, case: Case) -> Seen:
    logits = list(case["logits"])
    yield case["about"], names["softmax_gradient"](logits, case["target"])


def by_hand(names: Namespace, case: Case) -> Seen:
    yield "`hand_gradient`", names["hand_gradient"]


def certain(names: Namespace, case: Case) -> Seen:
    yield "`certain_gradient`", names["certain_gradient"]
