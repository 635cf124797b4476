"""A notebook as MyST text and back: one line of nbgrader metadata a cell, stable cell ids.

The line is `given NAME`, `solution ID`, `test ID POINTS` or `written ID POINTS`:

    ```{code-cell}
    :nbgrader: test value-mul 2

    +++ {"nbgrader": "written descent-explain 1"}
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat import NotebookNode

from .course import CourseError

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
TEXT_METADATA = {
    "jupytext": {"text_representation": {"extension": ".md", "format_name": "myst"}},
    "kernelspec": KERNEL,
}
SCHEMA_VERSION = 3  # of nbgrader's cell metadata

# role: what nbgrader calls it, and whether the line ends with points
ROLES: dict[str, tuple[dict[str, bool], bool]] = {
    "given": ({"grade": False, "solution": False, "locked": True, "task": False}, False),
    "solution": ({"grade": False, "solution": True, "locked": False, "task": False}, False),
    "test": ({"grade": True, "solution": False, "locked": True, "task": False}, True),
    "written": ({"grade": True, "solution": True, "locked": False, "task": False}, True),
}


class TextError(CourseError):
    """Text or metadata that cannot be a notebook of the course; names file and cell."""


def read_text(text: str, where: str) -> NotebookNode:
    """The instructor's notebook written in `text`; `where` names it in errors.

    Raises TextError for text that would not come back the same, for metadata of another form,
    and for a doubled id or a cell that stands twice.
    """
    notebook = jupytext.reads(text, "md:myst")
    cells = []
    for number, cell in enumerate(notebook.cells, 1):
        place = f"{where}, cell {number} ({_beginning(cell)})"
        cells.append(_cell(cell.cell_type, cell.source, cell.metadata, place))
    _refuse_doubles(cells, where)
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": dict(KERNEL)})
    _refuse_drift(text, write_text(notebook, where), where)
    return notebook


def write_text(notebook: NotebookNode, where: str) -> str:
    """The text of an instructor's notebook, however it was edited: `read_text`'s inverse.

    Outputs, cell ids and an editor's own metadata are dropped. Raises TextError for nbgrader
    metadata that has no one-line form.
    """
    cells = []
    for number, cell in enumerate(notebook.cells, 1):
        place = f"{where}, cell {number} ({_beginning(cell)})"
        line = role_line(cell.metadata.get("nbgrader"), place)
        new = nbformat.v4.new_code_cell if cell.cell_type == "code" else nbformat.v4.new_markdown_cell
        cells.append(new(cell.source.strip("\n"), metadata={"nbgrader": line} if line else {}))
    text = jupytext.writes(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), "md:myst")
    return re.sub(r"^    (format_version|jupytext_version): .*\n", "", text, flags=re.MULTILINE)


def _cell(kind: str, source: str, metadata: Mapping[str, Any], place: str) -> NotebookNode:
    extra = set(metadata) - {"nbgrader"}
    if extra:
        raise TextError(f"{place}: unknown metadata {', '.join(sorted(extra))}; take it out")
    if not source.strip():
        raise TextError(f"{place}: the cell is empty; take it out")
    line = metadata.get("nbgrader")
    nbgrader = parse_role(line, place) if line is not None else None
    new = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    cell_id = nbgrader["grade_id"] if nbgrader else _content_id(source)
    return new(source, id=cell_id, metadata={"nbgrader": nbgrader} if nbgrader else {})


def _content_id(source: str) -> str:
    """An id that depends on nothing but the cell itself, so that no other cell changes it."""
    return "c-" + hashlib.sha256(source.encode()).hexdigest()[:12]


def parse_role(line: Any, place: str) -> dict[str, Any]:
    """nbgrader's metadata for a one-line form; TextError where it is of another form."""
    words = line.split() if isinstance(line, str) else []
    flags, has_points = ROLES.get(words[0] if words else "", ({}, False))
    if not flags or len(words) != (3 if has_points else 2):
        raise TextError(
            f"{place}: nbgrader: {line!r} is not of the form 'given NAME', 'solution ID', "
            "'test ID POINTS' or 'written ID POINTS'"
        )
    name = words[1]
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,50}", name):
        raise TextError(f"{place}: {name!r} is no id: small letters, digits and hyphens only")
    role = words[0]
    metadata: dict[str, Any] = {"schema_version": SCHEMA_VERSION, **flags}
    metadata["grade_id"] = f"{name}-test" if role == "test" else name
    if has_points:
        if not words[2].isdigit():
            raise TextError(f"{place}: {words[2]!r} points: a whole number was wanted")
        metadata["points"] = int(words[2])
    return metadata


def role_line(metadata: Mapping[str, Any] | None, place: str) -> str | None:
    """The one-line form of a cell's nbgrader metadata, None for a cell that has none.

    Raises TextError where no form says the same.
    """
    if not metadata or not any(metadata.get(key) for key in ("grade", "solution", "locked", "task")):
        return None
    grade_id = str(metadata.get("grade_id", ""))
    for role, (flags, has_points) in ROLES.items():
        if any(bool(metadata.get(key)) != flags[key] for key in ("grade", "solution", "task")):
            continue
        if role == "test" and not grade_id.endswith("-test"):
            raise TextError(f"{place}: the test's id {grade_id!r} must be its exercise's and '-test'")
        points = [f"{float(metadata.get('points', 0)):g}"] if has_points else []
        return " ".join([role, grade_id.removesuffix("-test") if role == "test" else grade_id, *points])
    raise TextError(f"{place}: nbgrader's kind of this cell has no place in the course's text")


def _refuse_doubles(cells: list[NotebookNode], where: str) -> None:
    seen: dict[str, int] = {}
    for number, cell in enumerate(cells, 1):
        if cell.id in seen:
            what = "the same text" if cell.id.startswith("c-") else f"the id {cell.id!r}"
            raise TextError(
                f"{where}, cell {number} ({_beginning(cell)}): {what} as cell {seen[cell.id]}; "
                "change one of them"
            )
        seen[cell.id] = number


def _refuse_drift(text: str, again: str, where: str) -> None:
    """Refuses text that a round trip through Jupytext would change: its form is off somewhere."""
    lines, lines_again = text.splitlines(), again.splitlines()
    for number, (line, line_again) in enumerate(zip(lines, lines_again, strict=False), 1):
        if line != line_again:
            raise TextError(
                f"{where}, line {number}: {line!r} would come back as {line_again!r}; "
                "write it so, or mend the cell it stands in"
            )
    if text.rstrip("\n") != again.rstrip("\n"):
        number = min(len(lines), len(lines_again)) + 1
        raise TextError(f"{where}, line {number}: text is lost or added at the end of the file")


def _beginning(cell: NotebookNode) -> str:
    line = cell.metadata.get("nbgrader")
    if isinstance(line, str):
        return line
    return cell.source.strip().split("\n", 1)[0][:40] or "empty"


def load_text(path: Path, where: str) -> NotebookNode:
    """`read_text` of a file; TextError where it is missing or no UTF-8."""
    try:
        return read_text(path.read_text(encoding="utf-8"), where)
    except FileNotFoundError:
        raise TextError(f"{where} is missing: the assignment's text belongs there") from None
    except UnicodeDecodeError as error:
        raise TextError(f"{where}: no UTF-8 at byte {error.start}; save it as UTF-8") from None
