"""Observations of 02-chain-rule."""

from collections.abc import Iterator
from typing import Any

from .plain import NotPlain, plain
from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]

FORWARD = ("d", "e", "f")
LOCAL = ("df_de", "de_dd", "de_dc", "dd_da", "dd_db")
BACKWARD = ("df_dd", "df_dc", "df_da", "df_db")


def values(names: Namespace, wanted: tuple[str, ...]) -> Seen:
    """Each of the names `wanted`; one that is missing costs the others nothing."""
    defined = set(names)
    for name in sorted(wanted, key=lambda name: name not in defined):
        yield f"`{name}`", names[name]


def forward(names: Namespace, case: Case) -> Seen:
    yield from values(names, FORWARD)


def rates(names: Namespace, case: Case) -> Seen:
    yield from values(names, ("dz_dx",))


def local(names: Namespace, case: Case) -> Seen:
    yield from values(names, LOCAL)


def backward(names: Namespace, case: Case) -> Seen:
    yield from values(names, BACKWARD)


def reuse(names: Namespace, case: Case) -> Seen:
    yield "the derivative", names["d_reused"](case["x"])


def two_uses(names: Namespace, case: Case) -> Seen:
    yield from values(names, ("d_output",))


def two_layer(names: Namespace, case: Case) -> Seen:
    answer = plain(names["two_layer_gradient"](case["w1"], case["w2"], case["x"]))
    if not isinstance(answer, list) or len(answer) != 3:
        raise NotPlain(
            f"{repr(answer)[:80]} came back, where three numbers were wanted: "
            "the derivatives by w1, by w2 and by x"
        )
    for name, slope in zip(("w1", "w2", "x"), answer, strict=True):
        yield f"the derivative by {name}", slope
