"""Nothing of a student's runs in a page that others look at: each attack through nbconvert's and our own pages."""

import json
import re
from html.parser import HTMLParser

import nbformat
from nbconvert.exporters import HTMLExporter
from test_marking import FIRST, WRITTEN, submission

from autograder.feedback import Graded, page
from autograder.harmless import harmless, inactive
from autograder.marking import carry_out

HTML = {
    "script": "<script>BREACH</script>",
    "handler": "<img src=x onerror=BREACH>",
    "handler without space": "<svg/onload=BREACH>",
    "link": "<a href='javascript:BREACH'>here</a>",
    "link in capitals": "<a href='JaVaScRiPt:BREACH'>here</a>",
    "link with a line end": "<a href='java\nscript:BREACH'>here</a>",
    "frame": "<iframe srcdoc='<script>BREACH</script>'></iframe>",
    "frame elsewhere": "<iframe src='data:text/html,<script>BREACH</script>'></iframe>",
    "object": "<object data='data:text/html,BREACH'></object>",
    "picture elsewhere": "<img src='http://127.0.0.1/BREACH'>",
    "style": "<style>body { background: url(//BREACH) }</style>",
    "style attribute": "<p style='background: url(//BREACH)'>x</p>",
    "form": "<form action='//BREACH'><button>Here</button></form>",
    "base": "<base href='//BREACH/'>",
    "refresh": "<meta http-equiv=refresh content='0; url=//BREACH'>",
    "unfinished": "<img src=x onerror=BREACH",
    "comment": "<!-- --><script>BREACH</script>",
    "mathematics": "<math><mtext><style><img src=x onerror=BREACH></style></mtext></math>",
}
LINKS = {
    "link": "[x](javascript:BREACH)",
    "link in angles": "[x](<javascript:BREACH>)",
    "link with entities": "[x](&#106;avascript:BREACH)",
    "link by a number": "[x][1]\n\n[1]: javascript:BREACH",
    "link by its text": "[x]\n\n[x]: javascript:BREACH",
    "picture": "![x](http://127.0.0.1/BREACH.png)",
    "picture by a number": "![x][2]\n\n[2]: http://127.0.0.1/BREACH.png",
    "picture in a link": "[![x](http://127.0.0.1/BREACH.png)](javascript:BREACH)",
}
MATHEMATICS = (
    r"\href{javascript:BREACH}{x}",
    r"\style{background: url(//BREACH)}{x}",
    r"\mmlToken{mi}[href='javascript:BREACH']{x}",
)
WAYS = {
    "displayed": "from IPython.display import HTML, display\ndisplay(HTML({html!r}))",
    "as the result": "from IPython.display import HTML\nHTML({html!r})",
    "as Markdown": "from IPython.display import Markdown\nMarkdown({html!r})",
    "as LaTeX": "from IPython.display import Latex\nLatex('$' + {html!r} + '$')",
    "as SVG": "display({{'image/svg+xml': {html!r}}}, raw=True)",
    "as a picture": "display({{'image/png': '\"' + {html!r}}}, raw=True)",
    "as a picture's size": "display({{'image/png': 'AA=='}}, {{'image/png': {{'width': '\"' + {html!r}}}}}, raw=True)",
    "as JavaScript": "from IPython.display import Javascript\nJavascript('BREACH')",
    "as a widget": "display({{'application/vnd.jupyter.widget-view+json': {{'model_id': {html!r}}}}}, raw=True)",
    "printed": "print({html!r})",
    "raised": "raise ValueError({html!r})",
}


RUNNING = ("javascript", "data", "vbscript")  # what a link begins with that runs


class Active(HTMLParser):
    """Collects what would run or be fetched."""

    def __init__(self, text):
        super().__init__()
        self.found, self._script = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._script = tag in ("script", "style")
        if "BREACH" in str(attrs) and any(self._runs(tag, name, value or "") for name, value in attrs):
            self.found.append((tag, attrs))

    def _runs(self, tag, name, value):
        fetched = name in ("src", "href", "srcdoc", "data", "action", "style", "content")
        if tag == "a":  # a link to another page is followed by whoever wants to
            fetched = re.sub(r"\s", "", value.partition(":")[0]).lower() in RUNNING
        harmless = tag == "img" and value.startswith("data:image/")
        return "BREACH" in value and (name.startswith("on") or (fetched and not harmless))

    def handle_endtag(self, tag):
        self._script = self._script and tag not in ("script", "style")

    def handle_data(self, data):
        if self._script and "BREACH" in data:
            self.found.append(("script", data))


def pages(one, result):
    """The notebook as nbconvert shows it in two ways, and as a feedback page."""
    notebook = nbformat.reads(result.notebook.decode(), as_version=4)
    for template in ("lab", "classic"):
        yield HTMLExporter(template_name=template).from_notebook_node(notebook)[0]
    points = {name: (score or 0.0, 1.0) for name, score in result.scores.items()}
    comments = {
        cell.metadata.nbgrader.grade_id: None for cell in notebook.cells if "nbgrader" in cell.metadata
    }
    yield page(Graded(result.student, one.name, result.notebook, points, comments, 0.0)).decode()


def code_cell(source):
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}


def test_the_attacks_would_work():
    """What they are for, were nothing done: else this file would prove nothing."""
    for html in HTML.values():
        assert Active(f"{html}>").found, html


def test_nothing_displayed_runs():
    cells = [code_cell(way.format(html=html)) for way in WAYS.values() for html in HTML.values()]
    result = carry_out(submission(FIRST, lambda notebook: notebook["cells"].extend(cells)))
    assert "BREACH" in result.notebook.decode()
    for shown in pages(FIRST, result):
        assert Active(shown).found == []


def test_nothing_written_runs():
    def write(notebook):
        for cell in notebook["cells"]:
            if cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == "descent-explain":
                cell["source"] = "\n\n".join(HTML.values())
        for html in HTML.values():
            for text in (
                html,
                f"`{html}`",
                f"${html}$",
                f"[x]({html})",
                f"```\n{html}\n```",
                f"| a |\n|--|\n| {html} |",
            ):
                notebook["cells"].append({"cell_type": "markdown", "source": text, "metadata": {}})
            notebook["cells"].append(
                {"cell_type": "raw", "source": html, "metadata": {"format": "text/html"}}
            )

    result = carry_out(submission(WRITTEN, write))
    assert "BREACH" in result.notebook.decode()
    for shown in pages(WRITTEN, result):
        assert Active(shown).found == []


def test_no_link_written_or_displayed_runs():
    def write(notebook):
        for text in LINKS.values():
            notebook["cells"].append({"cell_type": "markdown", "source": text, "metadata": {}})
            notebook["cells"].append(code_cell(f"display({{'text/markdown': {text!r}}}, raw=True)"))
        about = {"image/png": {"filenames": {"image/png": "http://127.0.0.1/BREACH.png"}}}
        about |= {"filenames": {"image/png": "http://127.0.0.1/BREACH.png"}}
        notebook["cells"].append(code_cell(f"display({{'image/png': 'AA=='}}, {about}, raw=True)"))

    result = carry_out(submission(WRITTEN, write))
    assert "BREACH" in result.notebook.decode()
    for shown in pages(WRITTEN, result):
        assert Active(shown).found == []


def test_the_links_would_work():
    """As for the other attacks: without anything done, each is a link or a picture in the page."""
    for text in LINKS.values():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
        shown = HTMLExporter(template_name="classic").from_notebook_node(notebook)[0]
        assert Active(shown).found, text


def test_no_mathematics_does_more_than_show():
    for text in MATHEMATICS:
        shown = harmless({"text/latex": text, "text/html": text})
        for kept in (inactive(f"${text}$"), *shown.values()):
            assert not re.search(r"\\(href|style|mmlToken)", kept)
            assert kept.replace("\u200b", "").strip("$") == text


def test_a_picture_that_is_attached_stays_and_nothing_else_that_is():
    pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    attached = {
        "a.png": {"image/png": pixel},
        "b.html": {"text/html": "BREACH"},
        "c.png": {"image/png": '"onerror=BREACH'},
    }

    def write(notebook):
        text = "".join(f"![x](attachment:{name})" for name in attached)
        cell = {"cell_type": "markdown", "source": text, "metadata": {}, "attachments": attached}
        notebook["cells"].append(cell)

    result = carry_out(submission(WRITTEN, write))
    cell = json.loads(result.notebook)["cells"][-1]
    assert cell["attachments"] == {"a.png": {"image/png": pixel}}
    for shown in pages(WRITTEN, result):
        assert f'src="data:image/png;base64,{pixel}"' in shown
        assert "BREACH" not in shown


def test_what_is_harmless_stays():
    table = '<table class="t"><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    picture = '<img src="data:image/svg+xml;base64,AAAA" alt="a bowl">'
    link = '<a href="https://example.org/">more</a>'
    for html in (table, picture, link):
        assert harmless({"text/html": html, "text/plain": "x"}) == {"text/html": html, "text/plain": "x"}
    for text in (
        "a < b",
        "$x<0$ or 1 <2",
        "x <= y",
        "2<3",
        r"$\frac{a}{b}$ [1] (x)",
    ):
        assert inactive(text) == text
    assert harmless({"application/javascript": "BREACH"}) == {"text/plain": "(not shown here)"}
    assert inactive("![x](attachment:a.png)", ["a.png"]) == "![x](attachment:a.png)"
    texts = [carry_out(submission(WRITTEN)).notebook, submission(WRITTEN).master.released]
    kept, sources = (
        {
            cell.id: cell.source
            for cell in nbformat.reads(text.decode(), as_version=4).cells
            if cell.cell_type == "markdown"
        }
        for text in texts
    )
    assert {name for name in sources if kept[name] != sources[name]} == {"descent-explain"}
