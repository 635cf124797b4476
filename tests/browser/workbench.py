"""JupyterLab as someone who sits before it sees it, and a few looks behind the page."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from .served import Served

OpenPage = Callable[[], AbstractContextManager[Page]]

PATIENCE = 90_000  # milliseconds; what is waited for comes in a few seconds on an idle machine

OPEN = "path => jupyterapp.commands.execute('docmanager:open', {path}).then(() => null)"

READY = """async () => {
    const widget = jupyterapp.shell.currentWidget;
    await widget.context.ready;
    await widget.sessionContext.ready;
    await widget.revealed;
}"""

# Cell after cell, as with Shift and Enter: "Run All Cells" stops at the first that raises.
RUN = """async () => {
    const notebook = jupyterapp.shell.currentWidget.content;
    for (let index = 0; index < notebook.model.cells.length; index++) {
        if (notebook.model.cells.get(index).type !== 'code') continue;
        notebook.activeCellIndex = index;
        await jupyterapp.commands.execute('notebook:run-cell');
    }
}"""

SHOW = """async id => {
    const notebook = jupyterapp.shell.currentWidget.content;
    const index = notebook.widgets.findIndex(widget => widget.model.id === id);
    notebook.activeCellIndex = index;
    await notebook.scrollToCell(notebook.widgets[index]);
    return notebook.widgets[index].node;
}"""

# Whether a cell has run since it had the execution count `before`.
RAN = """([name, before]) => {
    const cells = jupyterapp.shell.currentWidget.content.model.cells;
    const cell = Array.from(cells).find(cell => cell.id === name);
    return cell.executionState === 'idle' && cell.executionCount && cell.executionCount !== before;
}"""

# Playwright waits for what a script promises without end.
IN_TIME = """([argument, limit]) => Promise.race([
    (SCRIPT)(argument),
    new Promise((_, refuse) => setTimeout(() => refuse(new Error(`not done in ${limit} ms`)), limit)),
])"""

CLOSE = """async () => {
    const widget = jupyterapp.shell.currentWidget;
    await widget.sessionContext.shutdown();
    widget.dispose();  // close() would ask whether to save
}"""


class Lab:
    """A page with JupyterLab in it, or at another `path` Notebook 7, and at most one notebook open."""

    def __init__(self, page: Page, server: Served, path: str = "lab") -> None:
        self.page, self.server = page, server
        page.goto(server.page(path))
        page.wait_for_function("window.jupyterapp && window.jupyterapp.restored.then(() => true)")

    def open(self, path: str) -> None:
        """Opens a notebook and waits for its kernel."""
        self._do(OPEN, path)
        self.ready()

    def ready(self) -> None:
        """Waits for the open notebook's cells and its kernel."""
        expect(self.page.locator(".jp-NotebookPanel:visible .jp-Cell").first).to_be_visible()
        self._do(READY)

    def close(self) -> None:
        """Closes the notebook as it is, and ends its kernel."""
        self._do(CLOSE)
        expect(self.page.locator(".jp-NotebookPanel")).to_have_count(0)

    def run(self) -> None:
        """Runs all cells, those after one that raised as well."""
        self._do(RUN)

    def _do(self, script: str, argument: str | None = None) -> None:
        self.page.evaluate(IN_TIME.replace("SCRIPT", script), [argument, PATIENCE])

    def cells(self) -> list[dict[str, Any]]:
        """The open notebook's cells with their outputs, as they would be saved."""
        return self.page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON().cells")

    def cell(self, name: str) -> Locator:
        """The cell with this id, brought into view."""
        element = self.page.evaluate_handle(SHOW, name).as_element()
        assert element is not None
        element.evaluate("(node, name) => node.setAttribute('data-name', name)", name)
        found = self.page.locator(f"[data-name={json.dumps(name)}]")
        expect(found).to_be_visible()
        return found

    def replace_last_line(self, name: str, line: str) -> None:
        """Types `line` over the last line of a cell, key by key, and runs the cell."""
        (before,) = [cell["execution_count"] for cell in self.cells() if cell["id"] == name]
        self.cell(name).locator(".cm-content").click()
        for key in ("Control+End", "Shift+Home"):
            self.page.keyboard.press(key)
        self.page.keyboard.type(line)
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(RAN, arg=[name, before])

    def validated(self, picture: Path) -> str:
        """What nbgrader's Validate button says of the open notebook; `picture` shows it."""
        self.page.get_by_role("button", name="Validate").click()
        result = self.page.locator(".jp-Dialog", has_text="Validation Results")
        expect(result).to_be_visible()
        said = result.locator(".jp-Dialog-body").inner_text()
        self.page.screenshot(path=picture)
        result.get_by_role("button").first.click()
        expect(result).to_have_count(0)
        return said

    def menu(self, *names: str) -> None:
        """Chooses from the menu bar."""
        first, *others = names
        self.page.locator(".lm-MenuBar-item", has_text=first).first.click()
        for name in others:
            self.page.locator(".lm-Menu-item", has_text=name).first.click()


def errors(cells: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The errors among the outputs: the cell's id, the exception's name, its text."""
    return [
        (cell["id"], output["ename"], output["evalue"])
        for cell in cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "error"
    ]
