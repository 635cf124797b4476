"""What others see of a student's notebook: nothing in it runs, or fetches anything.

Formgrader shows a graded notebook within the instructor's own session, where a script could enter marks.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

import bleach
from nbformat import NotebookNode

# Kinds of display that pages show as text or as a picture; of all others but HTML and Markdown nothing stays.
PICTURE_KINDS = frozenset(("image/png", "image/jpeg", "image/svg+xml"))
SHOWN = PICTURE_KINDS | {"text/plain", "application/json"}
TEXTS = ("a", "abbr", "b", "br", "code", "em", "i", "s", "small", "span", "strong", "sub", "sup", "u")
BLOCKS = ("blockquote", "dd", "div", "dl", "dt", "hr", "li", "ol", "p", "pre", "ul")
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
TABLES = ("caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr")
PICTURES = ("figcaption", "figure", "img")
TAGS = frozenset((*TEXTS, *BLOCKS, *HEADINGS, *TABLES, *PICTURES))
ATTRIBUTES = frozenset(("alt", "class", "colspan", "height", "rowspan", "scope", "title", "width"))
# What MathJax can put into a page besides mathematics.
TEX = re.compile(r"\\(?=(?:bbox|class|cssId|data|href|html\w*|mmlToken|require|style|url)(?![a-zA-Z]))")
# What makes a text run or fetch something: a picture or link, its address elsewhere, a tag, and that.
ACTIVE = re.compile(rf"\](?:\(attachment:(?P<attached>[^()\s]+)\)|(?=[(\[:]))|<(?=[a-zA-Z/!?])|{TEX.pattern}")
APART = "\u200b"  # a space of no width: the text reads the same, and does nothing
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


def make_harmless(notebook: NotebookNode, released: NotebookNode) -> None:
    """Takes off a graded notebook what would run in a page; texts that are as `released` stay as they are."""
    texts = {cell.id: cell.source for cell in released.cells}
    for cell in notebook.cells:
        if "attachments" in cell:
            cell.attachments = _pictures(cell.attachments)
        if cell.cell_type != "code" and cell.source != texts.get(cell.id):
            cell.source = inactive(cell.source, cell.get("attachments", ()))
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = NotebookNode(harmless(output.data))
                output.metadata = NotebookNode(_sizes(output.metadata))


def harmless(data: Mapping[str, Any]) -> dict[str, Any]:
    """A bundle of display data by its kinds, as it can be shown to anybody."""
    kept = {kind: value for kind, value in data.items() if kind in SHOWN}
    if "text/html" in data:
        kept["text/html"] = _clean(str(data["text/html"]))
    for kind in ("text/markdown", "text/latex"):
        if kind in data:
            kept[kind] = inactive(str(data[kind]))
    return kept or {"text/plain": "(not shown here)"}


def inactive(text: str, attached: Collection[str] = ()) -> str:
    """Markdown or LaTeX without HTML, links and pictures, save those `attached`; it reads as before."""

    def apart(found: re.Match[str]) -> str:
        return found[0] if found["attached"] in attached else found[0][0] + APART + found[0][1:]

    return ACTIVE.sub(apart, text)


def _pictures(attachments: Any) -> NotebookNode:
    """Of a cell's attachments, the pictures."""
    kept = NotebookNode()
    for name, bundle in attachments.items() if isinstance(attachments, Mapping) else ():
        for kind, data in bundle.items() if isinstance(bundle, Mapping) else ():
            if kind in PICTURE_KINDS and BASE64.fullmatch(str(data)):
                kept[name] = NotebookNode({kind: data})
    return kept


def _sizes(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is said about an output, how large it is to be shown."""
    return {
        kind: {name: about[name] for name in ("width", "height") if type(about.get(name)) is int}
        for kind, about in metadata.items()
        if kind in SHOWN and isinstance(about, Mapping)
    }


def _clean(html: str) -> str:
    protocols = ["http", "https", "mailto", "data"]
    cleaned = bleach.clean(html, TAGS, _is_allowed, protocols, strip=True, strip_comments=True)
    return TEX.sub(rf"\g<0>{APART}", cleaned)


def _is_allowed(tag: str, name: str, value: str) -> bool:
    """Pictures that are in the page itself, and links to other pages."""
    if name == "src":
        return tag == "img" and value.startswith("data:image/")
    if name == "href":
        return tag == "a" and value.startswith(("http://", "https://", "mailto:", "#"))
    return name in ATTRIBUTES
