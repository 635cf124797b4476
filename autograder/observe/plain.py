"""Whatever student code returns, as plain data: None, bool, int, float, str, list, dict."""

import math
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

DEPTH = 8
ITEMS = 200_000
DIGITS = 60
LETTERS = 2_000


class NotPlain(TypeError):
    """A value that is no plain data; the message says what it is and what was wanted."""


def plain(value: Any) -> Any:
    """`value` as JSON data, by its exact base type, never by a method that it brings along.

    Floats that JSON lacks become the strings "nan", "inf" and "-inf"; tuples and arrays become
    lists, sets sorted lists. Raises NotPlain for anything else, for more than 8 levels, for more
    than 200,000 items, and for numbers and texts that are longer than any answer.
    """
    return _plain(value, 0, [ITEMS])


def _plain(value: Any, depth: int, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise NotPlain(f"the answer holds more than {ITEMS:,} items")
    if depth > DEPTH:
        raise NotPlain(f"the answer is nested more than {DEPTH} levels deep")
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, int):  # first what there is most of
        return _integer(int.__add__(value, 0))
    if issubclass(kind, np.floating):  # a long double's item() is a long double again
        return _float(float(np.float64(value)))
    if issubclass(kind, float):
        return _float(float.__add__(value, 0.0))
    if issubclass(kind, np.bool_):
        return bool(value)
    if issubclass(kind, np.integer):
        return int(np.generic.item(value))
    if issubclass(kind, str):
        return str.__str__(value) if str.__len__(value) <= LETTERS else _refuse_long(value)
    if issubclass(kind, np.ndarray):
        return _array(value, depth, left)
    if issubclass(kind, list | tuple):
        base = list if issubclass(kind, list) else tuple
        return [_plain(item, depth + 1, left) for item in base.__iter__(value)]
    if kind in (dict, set, frozenset):
        return _collection(value, depth, left)
    return _refuse(value)


def _numeric(kind: type) -> bool:
    return issubclass(kind, np.bool_ | np.integer | np.floating)


def _integer(value: int) -> int:
    if value.bit_length() > 4 * DIGITS:
        raise NotPlain(f"the answer holds an integer of more than {DIGITS} digits")
    return value


def _float(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def _array(value: np.ndarray, depth: int, left: list[int]) -> Any:
    if not _numeric(value.dtype.type):
        raise NotPlain(f"an array of {value.dtype} came back where an array of numbers was wanted")
    return _plain(np.ndarray.tolist(value), depth, left)


def _collection(value: Mapping[Any, Any] | Set[Any], depth: int, left: list[int]) -> Any:
    if isinstance(value, Mapping):
        return {_key(key): _plain(item, depth + 1, left) for key, item in value.items()}
    return sorted((_plain(item, depth + 1, left) for item in value), key=repr)


def _key(key: Any) -> str:
    item = _plain(key, DEPTH, [1])
    return item if isinstance(item, str) else repr(item)


def _refuse_long(value: str) -> Any:
    raise NotPlain(f"the answer holds a text of more than {LETTERS} characters")


def _refuse(value: Any) -> Any:
    name = type(value).__name__
    wanted = "plain data (numbers, strings, lists)"
    hint = "; a Value's number is its .data" if name == "Value" else ""
    raise NotPlain(f"a {name} came back where {wanted} was wanted{hint}")
