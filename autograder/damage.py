"""Ways in which a submitted notebook can be spoiled, and how grading it has to end."""

import ast
import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Change = Callable[[dict[str, Any], str], None]


@dataclass(frozen=True)
class Damage:
    """One way to spoil a submission whose answers are right.

    `apply` takes the notebook's bytes and the id of the exercise to hit, and returns the spoiled
    bytes. `loses` says what the submission must lose by it: "nothing", "exercise" (the one hit)
    or "everything". `told` says who has to tell the student: "repair" (the notebook was mended
    or cannot be read), "pick" (the wrong files), "run" (what the code did), or nobody. `file` is
    the notebook's name in the folder, `also` what lies beside it too. The exercise to hit is one
    that is answered by functions.
    """

    apply: Callable[[bytes, str], bytes]
    loses: str = "nothing"
    told: str = ""
    file: str = "{name}.ipynb"
    also: Mapping[str, bytes] = field(default_factory=dict)


def dump(notebook: Mapping[str, Any]) -> bytes:
    """A notebook's bytes as Jupyter writes them."""
    return (json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def source_of(cell: Mapping[str, Any]) -> str:
    """A cell's text, however it is stored."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def set_source(cell: dict[str, Any], text: str) -> None:
    """Gives a cell another text, stored as Jupyter stores it: in lines."""
    cell["source"] = text.splitlines(keepends=True)


def grade_id(cell: Mapping[str, Any]) -> str | None:
    """nbgrader's id of a cell, None where it has none."""
    name: str | None = cell.get("metadata", {}).get("nbgrader", {}).get("grade_id")
    return name


def find_cell(notebook: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The cell that nbgrader calls `name`; KeyError where there is none."""
    for cell in notebook["cells"]:
        if grade_id(cell) == name:
            found: dict[str, Any] = cell
            return found
    raise KeyError(name)


def _edit(change: Change) -> Callable[[bytes, str], bytes]:
    """A damage that changes the parsed notebook in place."""

    def apply(data: bytes, exercise: str) -> bytes:
        notebook = json.loads(data)
        change(notebook, exercise)
        return dump(notebook)

    return apply


def _delete(ending: str) -> Change:
    def change(notebook: dict[str, Any], exercise: str) -> None:
        notebook["cells"].remove(find_cell(notebook, exercise + ending))

    return change


def _copy(ending: str) -> Change:
    def change(notebook: dict[str, Any], exercise: str) -> None:
        cell = find_cell(notebook, exercise + ending)
        notebook["cells"].insert(notebook["cells"].index(cell), json.loads(json.dumps(cell)))

    return change


def _retype(ending: str) -> Change:
    def change(notebook: dict[str, Any], exercise: str) -> None:
        cell = find_cell(notebook, exercise + ending)
        cell["cell_type"] = "markdown"
        del cell["outputs"], cell["execution_count"]

    return change


def _mark(ending: str, **flags: Any) -> Change:
    def change(notebook: dict[str, Any], exercise: str) -> None:
        find_cell(notebook, exercise + ending)["metadata"]["nbgrader"].update(flags)

    return change


def _move(notebook: dict[str, Any], exercise: str) -> None:
    cell = find_cell(notebook, exercise)
    notebook["cells"].remove(cell)
    notebook["cells"].append(cell)


def _split(notebook: dict[str, Any], exercise: str) -> None:
    """The first line stays, the rest becomes a cell of its own without metadata."""
    cell = find_cell(notebook, exercise)
    first, _, rest = source_of(cell).partition("\n")
    set_source(cell, first)
    below: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "split-off",
        "metadata": {},
        "outputs": [],
    }
    set_source(below, rest)
    notebook["cells"].insert(notebook["cells"].index(cell) + 1, below)


def _strip(notebook: dict[str, Any], exercise: str) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def _no_ids(notebook: dict[str, Any], exercise: str) -> None:
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        del cell["id"]


def _unknown_kernel(notebook: dict[str, Any], exercise: str) -> None:
    notebook["metadata"]["kernelspec"] = {"display_name": "My env", "language": "python", "name": "my-env"}


def _no_kernel(notebook: dict[str, Any], exercise: str) -> None:
    del notebook["metadata"]["kernelspec"]


def _above(text: str) -> Change:
    """Puts `text` above the answer."""

    def change(notebook: dict[str, Any], exercise: str) -> None:
        cell = find_cell(notebook, exercise)
        set_source(cell, f"{text}\n{source_of(cell)}")

    return change


def _below(text: str) -> Change:
    def change(notebook: dict[str, Any], exercise: str) -> None:
        cell = find_cell(notebook, exercise)
        set_source(cell, f"{source_of(cell)}\n{text}")

    return change


def _inside(statement: str) -> Change:
    """Puts `statement` at the beginning of every function of the answer.

    In it, {again} stands for a call of the function with its own arguments.
    """

    def change(notebook: dict[str, Any], exercise: str) -> None:
        cell = find_cell(notebook, exercise)
        set_source(cell, begin_functions(source_of(cell), statement))

    return change


def begin_functions(code: str, statement: str) -> str:
    """`code` with `statement` at the beginning of each of its functions.

    Raises ValueError where it has none.
    """
    functions = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise ValueError(f"no function in:\n{code}")
    lines = code.splitlines()
    for function in reversed(functions):
        first = function.body[0]
        line = lines[first.lineno - 1].encode()
        head, tail = line[: first.col_offset].decode(), line[first.col_offset :].decode()
        indent = "    " if head.strip() else head
        again = f"{function.name}({', '.join(one.arg for one in function.args.args)})"
        new = textwrap.indent(statement.format(again=again), indent).splitlines()
        kept = [head.rstrip()] if head.strip() else []
        lines[first.lineno - 1 : first.lineno] = [*kept, *new, indent + tail]
    return "\n".join(lines)


def _cut(data: bytes, exercise: str) -> bytes:
    return data[: len(data) // 2]


def _login_page(data: bytes, exercise: str) -> bytes:
    return b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body>Please sign in.</body></html>\n"


UNTITLED = dump({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

ENDLESS = "while True:\n    pass"
STUBBORN = (
    "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass"
)
STDERR = 'import sys\nprint("still here", file=sys.stderr)'
WARNING = 'import warnings\nwarnings.warn("mind the step")'
FLOOD = "for _ in range(5000):\n    print('.' * 1000)"


def _unchanged(data: bytes, exercise: str) -> bytes:
    return data


DAMAGES: dict[str, Damage] = {
    "test deleted": Damage(_edit(_delete("-test")), told="repair"),
    "test copied": Damage(_edit(_copy("-test")), told="repair"),
    "answer copied": Damage(_edit(_copy("")), told="repair"),
    "answer deleted": Damage(_edit(_delete("")), loses="exercise", told="repair"),
    "test as text": Damage(_edit(_retype("-test")), told="repair"),
    "answer as text": Damage(_edit(_retype("")), told="repair"),
    "points changed": Damage(_edit(_mark("-test", points=99)), told="repair"),
    "test marked as answer": Damage(_edit(_mark("-test", solution=True)), told="repair"),
    "no cell ids": Damage(_edit(_no_ids)),
    "unknown kernel": Damage(_edit(_unknown_kernel)),
    "no kernel": Damage(_edit(_no_kernel)),
    "empty file": Damage(lambda data, exercise: b"", loses="everything", told="repair"),
    "web page": Damage(_login_page, loses="everything", told="repair"),
    "cut off": Damage(_cut, loses="everything", told="repair"),
    "zero bytes after the end": Damage(lambda data, exercise: data + bytes(512), told="repair"),
    "notebook too many": Damage(_unchanged, told="pick", also={"Untitled.ipynb": UNTITLED}),
    "notebook renamed": Damage(_unchanged, told="pick", file="{name} (1).ipynb"),
    "syntax error": Damage(_edit(_below("print('done'")), loses="exercise", told="run"),
    "input": Damage(_edit(_above('name = input("Your name? ")')), told="run"),
    "endless loop": Damage(_edit(_inside(ENDLESS)), loses="exercise", told="run"),
    "stubborn loop": Damage(_edit(_inside(STUBBORN)), loses="exercise", told="run"),
    "endless recursion": Damage(_edit(_inside("return {again}")), loses="exercise", told="run"),
    "exit": Damage(_edit(_inside("import os\nos._exit(0)")), loses="exercise", told="run"),
    "stderr": Damage(_edit(_above(STDERR))),
    "warning": Damage(_edit(_above(WARNING))),
    "widget backend": Damage(_edit(_above("%matplotlib widget"))),
    "flood": Damage(_edit(_above(FLOOD))),
    "moved": Damage(_edit(_move)),
    "split": Damage(_edit(_split), told="repair"),
    "metadata stripped": Damage(_edit(_strip)),
    "UTF-16": Damage(lambda data, exercise: data.decode().encode("utf-16"), told="repair"),
}
