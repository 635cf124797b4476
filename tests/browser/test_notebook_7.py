"""The same notebooks in Notebook 7, the plain one that many know."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Playwright

from autograder.course import assignment, find_course

from .answers import solved
from .exploration import deaf_controls, explorations
from .served import Served, served
from .workbench import Lab, OpenPage, errors

COURSE = find_course()
ONE = assignment("08-learning-rate")


@pytest.fixture
def server(playwright: Playwright, tmp_path: Path) -> Iterator[Served]:
    """A server for Notebook 7 alone.

    One that has shown a page of Notebook 7 refuses JupyterLab its fonts: the two have files of the same
    names, and the server takes the first found for the other's.
    """
    shutil.copytree(COURSE.release / ONE.name, tmp_path / "work")
    with served(tmp_path / "work", tmp_path) as server:
        server.save(ONE.file, solved(COURSE, ONE))
        yield server


@pytest.fixture
def notebook(server: Served, open_page: OpenPage) -> Iterator[Lab]:
    with open_page() as page:
        yield Lab(page, server, f"notebooks/{ONE.file}")


def test_a_notebook_runs_and_its_exploration_answers(notebook: Lab, screenshots: Path) -> None:
    notebook.ready()
    notebook.run()
    notebook.page.screenshot(path=screenshots / "notebook-7.png")
    assert errors(notebook.cells()) == []
    for exploration in explorations(notebook):
        assert deaf_controls(exploration) == []
