"""A cell behaves as in a real kernel: the corpus is run through both, and the outputs are compared."""

import json
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import nbformat
import nbformat.v4 as nbf
import pytest
from fidelity_corpus import ALONE, DIFFERENCES, NOTEBOOKS
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from autograder.child import start
from autograder.child.near import Child
from autograder.child.shell import MAGIC, _Transformers
from autograder.course import find_course

Outputs = list[dict[str, Any]]  # of one cell
KERNELS = 6  # that share the corpus
TOGETHER = 2  # kernels at a time

# Streams are sent at once where a cell asks for it or ends, not whenever 0.2 s are over: else order is chance.
FIRST = "import sys\nsys.stdout.flush_interval = sys.stderr.flush_interval = 60"
# What one notebook leaves is nothing to the next.
BETWEEN = """
import matplotlib.pyplot, shutil, os, sys
matplotlib.pyplot.close('all')
for name in os.listdir():
    os.remove(name) if os.path.isfile(name) else shutil.rmtree(name)
for name in ('last_type', 'last_value', 'last_traceback', 'last_exc'):
    vars(sys).pop(name, None)
sys.modules.pop('mod', None)
get_ipython().reset(new_session=True);"""

FLEETING = [
    (r"\x1b\[[0-9;]*m", ""),
    (r"\b0x[0-9a-f]{3,}|0x\.\.\.", "0x"),
    (r"(?:/tmp|/private)?/[\w/.-]*/(?:ipykernel_\d+)/\d+\.py", "<cell>"),
    (r"<ipython-input-\d+-[0-9a-f]+>", "<cell>"),
    (r"(evaluated source code\.'|len\(obj, /\))\\n", r"\1"),  # colouring ends it with a line's end
    (r"\(\d+\.py, line", "(<cell>, line"),
    (r"(?:~|/root|/home/\w+)/\.pyenv/", "<python>/"),
    (r"display_id=[0-9a-f]{32}", "display_id="),
    (r"~/(?=\w+\.py)", "<home>/"),
    (r"(Cell )?In ?\[\s*\d+\]", r"\1In[n]"),
    (r"\d+(?:\.\d+)?(?:e[+-]\d+)? ?(?:ns|[uµμ]s|ms|s|min)\b", "0 s"),
    (r"CPU times: [^\\]*", "CPU times"),
    (r'"model_id": "[0-9a-f]+"', '"model_id": ""'),
    (r"IPY_MODEL_[0-9a-f]+", "IPY_MODEL"),
    (r"(?:Thread-|pid[ =]|Task-)\d+", "n"),
]


def normal(value: Any, home: str) -> Any:
    """What is the same in each run of the same notebook."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    for pattern, sub in ((re.escape(home), "<home>"), *FLEETING):
        text = re.sub(pattern, sub.replace("\\1", "\\g<1>"), text.replace("\\u001b", "\x1b"))
    return json.loads(text)


def merged(outputs: Outputs, home: str) -> Outputs:
    """Outputs in the form that is compared; pictures only by their kind."""
    found: Outputs = []
    for output in outputs:
        one = {key: value for key, value in output.items() if key != "execution_count"}
        if one["output_type"] == "stream" and found and found[-1].get("name") == one["name"]:
            found[-1]["text"] += one["text"]
        else:
            found.append(one)
    return normal(found, home)


def cells(notebook: str) -> list[str]:
    return [cell.strip("\n") for cell in notebook.split("# %%")]


def in_a_kernel(names: list[str], home: Path) -> dict[str, list[Outputs]]:
    """The outputs of several notebooks' cells, each in a kernel that has forgotten the one before."""
    home.mkdir()
    sources = [FIRST]
    for name in names:
        sources += [*cells(NOTEBOOKS[name]), BETWEEN]
    notebook = nbf.new_notebook(cells=[nbf.new_code_cell(source) for source in sources])
    client = NotebookClient(
        notebook,
        timeout=120,
        allow_errors=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(home)}},
    )
    # exit() ends a kernel: those notebooks have one of their own
    with suppress(DeadKernelError) if len(names) == 1 else nullcontext():
        client.execute()
    results, at = {}, 1
    for name in names:
        end = at + len(cells(NOTEBOOKS[name]))
        results[name] = [merged(cell.outputs, str(home)) for cell in notebook.cells[at:end]]
        left = [output for output in notebook.cells[end].outputs if output.output_type == "error"]
        assert name in ALONE or not left, (name, left)
        at = end + 1
    return results


def in_a_child(name: str) -> list[Outputs]:
    with Child({}) as child:
        run = lambda source: child.ask(60, do="run", source=source)["outputs"]  # noqa: E731
        home = run("import os\nprint(os.getcwd())")[0]["text"].strip()
        run("%reset -f")
        return [merged(run(source), home) for source in cells(NOTEBOOKS[name])]


@pytest.fixture(scope="module")
def kernels_outputs(tmp_path_factory) -> dict[str, list[Outputs]]:
    together = sorted(set(NOTEBOOKS) - ALONE)
    groups = [together[first::KERNELS] for first in range(KERNELS)] + [[name] for name in sorted(ALONE)]
    folder = tmp_path_factory.mktemp("kernels")
    found: dict[str, list[Outputs]] = {}
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(TOGETHER) as pool:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)  # a kernel that sees it captures less
        for name in [name for name in os.environ if name.startswith("PYDEVD")]:
            patch.delenv(name)
        for outputs in pool.map(in_a_kernel, groups, [folder / str(n) for n in range(len(groups))]):
            found |= outputs
    return found


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_outputs_are_those_of_a_kernel(name, kernels_outputs):
    kernel, child = kernels_outputs[name], in_a_child(name)
    if name in DIFFERENCES:
        assert child != kernel, f"no difference any more: {DIFFERENCES[name]}"
    else:
        assert child == kernel


def shown(*sources: str, figures: bool = True) -> list[Outputs]:
    with Child({}, figures) as child:
        return [child.ask(60, do="run", source=source)["outputs"] for source in sources]


def test_ctrl_c_means_what_it_means_in_a_kernel_where_the_grader_ignores_it(monkeypatch):
    """As a pool's workers do, and whatever is started in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        warm = start._Warm()
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.setattr(start, "_warm", lambda _: warm)
    [output] = shown("import signal\nsignal.getsignal(signal.SIGINT).__name__")[0]
    assert output["data"]["text/plain"] == "'default_int_handler'"


def test_figures_that_nobody_looks_at_are_named_and_not_drawn():
    [drawn], [figure] = [
        shown("import matplotlib.pyplot as plt\nplt.plot([1, 2]);", figures=figures)[0]
        for figures in (True, False)
    ]
    assert drawn["data"].pop("image/png")
    assert figure == drawn
    assert figure["data"] == {"text/plain": "<Figure size 640x480 with 1 Axes>"}


def test_figures_that_are_not_drawn_can_be_saved_and_are_closed():
    assert shown(
        "%config InlineBackend.figure_formats = ['svg']\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.savefig('f.png')",
        "import os\nos.path.getsize('f.png') > 1000, plt.get_fignums()",
        figures=False,
    )[1][0]["data"] == {"text/plain": "(True, [])"}


def test_a_cell_that_goes_on_asking_ends():
    (outputs,) = shown("while True:\n    input('again? ')")
    assert outputs[0]["text"].count("nobody answers") == 1
    assert outputs[-1]["ename"] == "EOFError"


def test_what_cannot_be_sent_as_json_is_text():
    source = "x = []\nfor _ in range(100): x = [x]\ndisplay({'application/json': {'deep': x, 1: float('nan'), 'o': object}}, raw=True)"
    ((output,),) = shown(source)
    data = output["data"]["application/json"]
    assert data["1"] == "nan"
    assert data["o"] == "<class 'object'>"
    assert data["deep"][0][0][0]


def test_a_long_text_and_a_long_traceback_are_cut():
    text, error = shown("print('x' * 50_000)\nprint('more')", "def f(): f()\nf()")
    assert text[0]["text"].startswith("x" * 20_000 + "\n... cut")
    assert "more" not in text[0]["text"]
    assert error[0]["traceback"][1].startswith("RecursionError")
    assert error[0]["traceback"][-1].startswith("RecursionError")
    assert any("calls more" in line for line in error[0]["traceback"])


def test_nothing_of_the_grader_s_own_files_is_in_a_traceback():
    for outputs in shown("import sys\nsys.stdout.write(3)", "!ls", "while True: input()"):
        assert "autograder" not in json.dumps(outputs)


def test_cells_are_read_as_ipython_reads_them():
    """Also where a look at every token is spared."""
    sources = {source for name in NOTEBOOKS for source in cells(NOTEBOOKS[name])}
    released = find_course().release.glob("*/*.ipynb")
    sources |= {cell.source for path in released for cell in nbformat.read(path, 4).cells}
    spared = [source for source in sources if not MAGIC.search(source)]
    assert 100 < len(spared) < len(sources) - 20
    for source in sources:
        assert _Transformers().transform_cell(source) == TransformerManager().transform_cell(source)
