"""Chromium, the student's server with JupyterLab in it, and an eye on the browser's console."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from autograder.course import find_course

from .console import Console
from .served import Served, served
from .workbench import PATIENCE, Lab, OpenPage

COURSE = find_course()
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--no-sandbox",  # Chromium as root, in a container
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Keeps a picture of every page that was open when a test failed."""
    report = yield
    if report.failed and (folder := os.environ.get("AUTOGRADER_SCREENSHOTS")):
        for context in item.funcargs["chromium"].contexts if "chromium" in item.funcargs else ():
            for number, page in enumerate(context.pages):
                page.screenshot(path=Path(folder) / f"failed-{item.name}-{number}.png")
    return report


@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    if CHROMIUM is None:
        reason = "no Chromium here: on Debian and Ubuntu, install chromium"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def console() -> Console:
    return Console()


@pytest.fixture(scope="package")
def open_page(chromium: Browser, console: Console) -> OpenPage:
    """Opens a page that shares no cookie, reaches nothing but this machine, and is listened to.

    It has to be closed before its server is: pages of Jupyter ask for news all the time.
    """

    @contextmanager
    def opened() -> Iterator[Page]:
        context = chromium.new_context(viewport={"width": 1200, "height": 900})
        context.set_default_timeout(PATIENCE)
        console.listen(context)
        yield context.new_page()
        context.close()

    return opened


@pytest.fixture(autouse=True)
def nothing_in_the_console(console: Console) -> Iterator[None]:
    """Each test ends without an error in the browser's console and without a call of the network."""
    yield
    assert console.taken() == []


@pytest.fixture(scope="package")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that instructor and student share."""
    folder = tmp_path_factory.mktemp("exchange")
    folder.chmod(0o777)
    return folder


@pytest.fixture(scope="package")
def student(
    playwright: Playwright, exchange: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A student's server, with a copy of the student notebooks in the folder `untouched`."""
    home = tmp_path_factory.mktemp("student")
    folder = home / "work"
    shutil.copytree(COURSE.release, folder / "untouched")
    (folder / "nbgrader_config.py").write_text(
        "c = get_config()\nc.CourseDirectory.course_id = 'autograd-by-hand'\n"
        f"c.Exchange.root = {str(exchange)!r}\n",
        encoding="utf-8",
    )
    with served(folder, home, USER="student-01", LOGNAME="student-01") as server:
        yield server


@pytest.fixture(scope="package")
def lab(student: Served, open_page: OpenPage) -> Iterator[Lab]:
    """The student's JupyterLab."""
    with open_page() as page:
        yield Lab(page, student)


@pytest.fixture(scope="package")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the pages go: the folder AUTOGRADER_SCREENSHOTS, or pytest's own."""
    named = os.environ.get("AUTOGRADER_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
