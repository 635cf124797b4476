"""What a feedback page says before it shows the notebook."""

import html
import re
from typing import Any

from nbformat import NotebookNode

from .grade import HIDDEN

CODE = re.compile(r"`([^`]+)`")
TITLE = re.compile(r"^#+ +(?:Exercise: *)?(.+)$", re.MULTILINE)


def summary(notebook: NotebookNode, score: float, max_score: float, late_penalty: float) -> dict[str, Any]:
    """A graded notebook's page in short: title, points, what was mended, a row for each exercise.

    Expects in each graded cell's nbgrader metadata the `score`, `points` and `comment` of the
    gradebook, and leaves the cell's `row` there.
    """
    graded = [
        (number, cell)
        for number, cell in enumerate(notebook.cells)
        if cell.metadata.get("nbgrader", {}).get("grade")
    ]
    for number, cell in graded:
        cell.metadata["nbgrader"]["row"] = _row(cell, _title_before(notebook, number))
    found = TITLE.search(notebook.cells[0].source) if notebook.cells else None
    return {
        "title": found[1] if found else "Your notebook",
        "score": _points(score),
        "max_score": _points(max_score),
        "late_penalty": _points(late_penalty) if late_penalty else "",
        "notes": notebook.metadata.get("autograder", {}).get("notes", []),
        "rows": [cell.metadata["nbgrader"]["row"] for _, cell in graded],
        "replaced": any(cell.metadata.get("autograder", {}).get("wrong") for _, cell in graded),
    }


def without_hidden_tests(notebook: NotebookNode) -> None:
    """Takes the hidden end off every test cell's source."""
    for cell in notebook.cells:
        cell.source = cell.source.split(HIDDEN)[0].rstrip()


def _row(cell: NotebookNode, title: str) -> dict[str, str]:
    nbgrader, verdict = cell.metadata["nbgrader"], cell.metadata.get("autograder", {})
    if nbgrader.get("solution"):
        line = nbgrader.get("comment") or "Marked by your instructor."
    elif verdict.get("wrong"):
        line = verdict["message"].splitlines()[0]
    else:
        line = "Right." if nbgrader.get("score") == nbgrader.get("points") else "See below."
    return {
        "anchor": nbgrader["grade_id"],
        "title": title[:1].upper() + title[1:] or nbgrader["grade_id"],
        "score": _points(nbgrader.get("score") or 0),
        "points": _points(nbgrader.get("points") or 0),
        "line": CODE.sub(r"<code>\1</code>", html.escape(line)),
    }


def _title_before(notebook: NotebookNode, number: int) -> str:
    """The heading of the exercise that a graded cell belongs to."""
    for cell in reversed(notebook.cells[: number + 1]):
        found = TITLE.search(cell.source) if cell.cell_type == "markdown" else None
        if found:
            return str(found[1])
    return ""


def _points(value: float) -> str:
    return f"{round(value, 2):g}"
