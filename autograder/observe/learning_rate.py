"""Observations of 08-learning-rate."""

from collections.abc import Iterator
from typing import Any

from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]


def study(names: Namespace, case: Case) -> Seen:
    found = names["study"](list(case["rates"]), case["updates"])
    yield "the set of rates", sorted(found)
    yield "the loss for each rate", [found[rate] for rate in case["rates"]]


def curvature(names: Namespace, case: Case) -> Seen:
    yield "the curvature", names["steepest_curvature"](list(case["xs"]))


def limit(names: Namespace, case: Case) -> Seen:
    yield "the limit", names["largest_stable_rate"](case["curvature"])


def edge(names: Namespace, case: Case) -> Seen:
    yield "the word", names["behaviour"](case["learning_rate"], case["curvature"])
