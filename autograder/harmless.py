"""What others see of a student's notebook: nothing in it runs, or fetches anything.

Formgrader shows a graded notebook within the instructor's own session, where a script could enter marks.
"""

import re
from collections.abc import Mapping
from typing import Any

import bleach
from nbformat import NotebookNode

# Kinds of display that pages show as text or as a picture; of all others but HTML and Markdown nothing stays.
SHOWN = frozenset(
    ("text/plain", "text/latex", "image/png", "image/jpeg", "image/gif", "image/svg+xml", "application/json")
)
TEXTS = ("a", "abbr", "b", "br", "code", "em", "i", "s", "small", "span", "strong", "sub", "sup", "u")
BLOCKS = ("blockquote", "dd", "div", "dl", "dt", "hr", "li", "ol", "p", "pre", "ul")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TABLES = ("caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr")
PICTURES = ("figcaption", "figure", "img")
TAGS = frozenset((*TEXTS, *BLOCKS, *HEADINGS, *TABLES, *PICTURES))
ATTRIBUTES = frozenset(("alt", "class", "colspan", "height", "rowspan", "scope", "title", "width"))
BEGINS_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
APART = "<\u200b"  # a space of no width: no tag to a browser, the same to a reader


def make_harmless(notebook: NotebookNode, released: NotebookNode) -> None:
    """Takes off a graded notebook what would run in a page; texts that are as `released` stay as they are."""
    texts = {cell.id: cell.source for cell in released.cells}
    for cell in notebook.cells:
        if cell.cell_type != "code" and cell.source != texts.get(cell.id):
            cell.source = without_tags(cell.source)
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = NotebookNode(harmless(output.data))


def harmless(data: Mapping[str, Any]) -> dict[str, Any]:
    """A bundle of display data by its kinds, as it can be shown to anybody."""
    kept = {kind: value for kind, value in data.items() if kind in SHOWN}
    if "text/html" in data:
        kept["text/html"] = _clean(str(data["text/html"]))
    if "text/markdown" in data:
        kept["text/markdown"] = without_tags(str(data["text/markdown"]))
    return kept


def without_tags(markdown: str) -> str:
    """Markdown in which no HTML is left; it reads as before."""
    return BEGINS_TAG.sub(APART, markdown)


def _clean(html: str) -> str:
    protocols = ["http", "https", "mailto", "data"]
    return str(bleach.clean(html, TAGS, _is_allowed, protocols, strip=True, strip_comments=True))


def _is_allowed(tag: str, name: str, value: str) -> bool:
    """Pictures that are in the page itself, and links to other pages."""
    if name == "src":
        return tag == "img" and value.startswith("data:image/")
    if name == "href":
        return tag == "a" and value.startswith(("http://", "https://", "mailto:", "#"))
    return name in ATTRIBUTES
