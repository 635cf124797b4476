"""Feedback pages: what each exercise earned and why, then the notebook as it was graded."""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.strings import clean_html
from nbconvert.filters.widgetsdatatypefilter import WidgetsDataTypeFilter
from nbformat import NotebookNode
from traitlets.config import Config

from .grade import HIDDEN

TEMPLATES = Path(__file__).parent / "templates"
LEXER = "ipython3"
KEPT = 4096  # rendered cells that are kept: the texts of the course are the same in every page
UNDESCRIBED = "A picture without a description"

CODE = re.compile(r"`([^`]+)`")
TITLE = re.compile(r"^#+ +(?:Exercise: *)?(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Graded:
    """A graded notebook with what the gradebook says of it: points, comments by cell, a late penalty."""

    student: str
    assignment: str
    notebook: bytes
    scores: Mapping[str, tuple[float, float]]
    comments: Mapping[str, str | None]
    late_penalty: float


def ready() -> None:
    """Gets this process ready for its first page."""
    _exporter()


def page(graded: Graded) -> bytes:
    """The feedback page of one submission, as HTML."""
    notebook = nbformat.reads(graded.notebook.decode(), as_version=4)
    for cell in notebook.cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("solution"):
            nbgrader["comment"] = graded.comments[nbgrader["grade_id"]]
        if nbgrader.get("grade"):
            nbgrader["score"], nbgrader["points"] = graded.scores[nbgrader["grade_id"]]
    score = sum(points for points, _ in graded.scores.values()) - graded.late_penalty
    most = sum(points for _, points in graded.scores.values())
    resources = {"summary": summary(notebook, score, most, graded.late_penalty)}
    without_hidden_tests(notebook)
    made, _ = _exporter().from_notebook_node(notebook, resources)
    return str(made).encode()


@cache
def _exporter() -> "Pages":
    config = Config()
    configure_pages(config)
    config.Exporter.default_preprocessors = []
    return Pages(config=config)


def configure_pages(c: Config) -> None:
    """Has our exporter make our pages, and leaves to others theirs: Formgrader marks on a page of its own."""
    c.Pages.template_name = "graded"
    c.Pages.extra_template_basedirs = [str(TEMPLATES)]


class Pages(HTMLExporter):
    """nbconvert's HTML pages, made fast: what is the same in all of them is made once.

    HTMLExporter parses each finished page, styles included, to make outputs focusable and to give
    pictures an alternative text; here the template and the notebook see to both beforehand.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        shared = self._init_resources({})
        self._shared = {
            name: lru_cache(maxsize=64)(value) if callable(value) else value for name, value in shared.items()
        }
        self._highlight = lru_cache(maxsize=KEPT)(Highlight2HTML(pygments_lexer=LEXER, parent=self))
        self.register_filter("highlight_code", _highlighted(self._highlight))
        self.register_filter("clean_html", lru_cache(maxsize=KEPT)(clean_html))

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kw: Any) -> tuple[str, Any]:
        nb_metadata = self._nb_metadata
        settings = {"notebook_metadata": nb_metadata, "parent": self, "resources": self._shared}
        self.register_filter("filter_data_type", WidgetsDataTypeFilter(**settings))
        _describe_pictures(nb)
        together = {**(resources or {}), **self._shared}
        return TemplateExporter.from_notebook_node(self, nb, together, **kw)  # type: ignore[no-any-return]

    @pass_context
    def markdown2html(self, context: Any, source: str) -> str:
        """A text cell as HTML; one without pasted pictures is rendered once."""
        if context.get("cell", {}).get("attachments"):
            return str(super().markdown2html(context, source))
        if source not in _rendered:
            if len(_rendered) >= KEPT:
                _rendered.clear()
            _rendered[source] = str(super().markdown2html(context, source))
        return _rendered[source]


_rendered: dict[str, str] = {}


def _highlighted(highlight: Callable[..., str]) -> Callable[..., str]:
    """The filter for code: of the cell's metadata, only the language that a magic names is of interest."""

    def rendered(source: str, language: str | None = None, metadata: Any = None) -> str:
        return highlight(source, (metadata or {}).get("magics_language") or language)

    return rendered


def _describe_pictures(notebook: NotebookNode) -> None:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            for kind in output.get("data", ()):
                if kind.startswith("image/"):
                    output.metadata.setdefault(kind, {}).setdefault("alt", UNDESCRIBED)


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
        line = nbgrader.get("comment") or "Your instructor marks this answer."
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
