"""An assignment's way round in the browser: released, fetched, submitted, graded, marked, handed back.

One story, whose steps are tests in their order: where one fails, those after it cannot begin.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from autograder.course import assignment, find_course
from autograder.exercises import declared

from .answers import solved
from .axe import grave_findings
from .served import Served, served
from .workbench import Lab, OpenPage

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nbgrader's exchange needs a POSIX file system")

COURSE = find_course()
ONE = assignment("07-gradient-descent")  # it has an answer in words
WRITTEN, WORDS = "descent-explain", "Noise: no line goes through all four points."
MISTAKEN = declared(ONE).exercises[0]
MISTAKE = MISTAKEN.mistakes[0]
COMMENT = "And without clearing?"


class Formgrader:
    """The instructor's pages, in a tab of JupyterLab."""

    def __init__(self, lab: Lab) -> None:
        self.page = lab.page
        lab.menu("Nbgrader", "Formgrader")
        self.frame: FrameLocator = self.page.frame_locator("iframe")

    def go(self, *links: str) -> None:
        """Follows links by their texts."""
        for link in links:
            self.follow(self.frame.get_by_role("link", name=link, exact=True))

    def follow(self, link: Locator) -> None:
        """Clicks a link, and waits until its page is there: what it has, too, may stand on the last one."""
        with self.page.expect_event("framenavigated"):
            link.click()

    def row(self) -> Locator:
        """The line of our assignment in the table of assignments."""
        self.follow(self.frame.locator(f"a[href='{self.address}']").first)
        return self.frame.locator("tr", has=self.frame.get_by_role("link", name=ONE.name))

    address = "/formgrader/manage_assignments"

    def press(self, row: Locator, column: str) -> None:
        """Presses the button of a row in this column, and confirms that it succeeded."""
        row.locator(f".{column} a").click()
        told = self.frame.locator(".modal.in")
        expect(told).to_contain_text("Log Output")
        assert "Success" in told.inner_text(), told.inner_text()
        told.get_by_role("button", name="OK").click()
        expect(told).to_have_count(0)

    def ready_to_mark(self) -> None:
        """Waits until the marking page has fetched what is in the gradebook: before, it saves nothing."""
        (frame,) = (one for one in self.page.frames if "/formgrader/submissions/" in one.url)
        frame.wait_for_function("formgrader.grades?.loaded && formgrader.comments?.loaded")

    def saved(self, kind: str, field: str, value: str) -> None:
        """Fills in a field of the marking page and waits until it is in the gradebook."""

        def is_put(response) -> bool:
            return f"/api/{kind}/" in response.url and response.request.method == "PUT"

        with self.page.expect_response(is_put) as answer:
            self.frame.locator(f"#{field}").fill(value)
            self.frame.locator(f"#{field}").press("Tab")
        assert answer.value.ok


@pytest.fixture(scope="module")
def teacher(exchange: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The instructor's server, on a course folder with one assignment."""
    home = tmp_path_factory.mktemp("teacher")
    folder = home / "course"
    shutil.copytree(COURSE.source / ONE.name, folder / "source" / ONE.name)
    shutil.copyfile(COURSE.root / "nbgrader_config.py", folder / "nbgrader_config.py")
    with served(folder, home, AUTOGRADER_EXCHANGE=str(exchange)) as server:
        yield server


@pytest.fixture(scope="module")
def formgrader(open_page: OpenPage, teacher: Served) -> Iterator[Formgrader]:
    with open_page() as page:
        yield Formgrader(Lab(page, teacher))


@pytest.fixture(scope="module")
def assignments(lab: Lab) -> Page:
    """The student's page with the Assignment List open."""
    lab.menu("Nbgrader", "Assignment List")
    return lab.page


def refreshed(page: Page) -> None:
    page.locator("#refresh_assignments_list").click()


def test_formgrader_releases(formgrader: Formgrader) -> None:
    row = formgrader.row()
    formgrader.press(row, "assign")
    formgrader.press(row, "release")
    expect(row.locator(".status")).to_have_text("released")


def test_the_student_fetches_and_submits(lab: Lab, assignments: Page, screenshots: Path) -> None:
    refreshed(assignments)
    assignments.locator("#released_assignments_list").get_by_role("button", name="Fetch").click()
    submit = assignments.locator("#fetched_assignments_list").get_by_role("button", name="Submit")
    expect(submit).to_be_visible()
    mine = lab.server.folder / ONE.name / ONE.file
    assert mine.read_bytes() == COURSE.released(ONE).read_bytes()
    notebook = solved(COURSE, ONE, {MISTAKEN.id: MISTAKE.code, WRITTEN: WORDS})
    lab.server.save(f"{ONE.name}/{ONE.file}", notebook)
    submit.click()
    handed_in = assignments.locator("#submitted_assignments_list")
    expect(handed_in.get_by_role("button", name="Fetch Feedback")).to_be_visible()
    assignments.screenshot(path=screenshots / "assignment-list.png")


def test_formgrader_collects_and_grades(formgrader: Formgrader, screenshots: Path) -> None:
    row = formgrader.row()
    formgrader.press(row, "collect")
    formgrader.follow(row.locator(".num-submissions a"))
    submission = formgrader.frame.locator("tr", has=formgrader.frame.locator(".autograde a"))
    expect(submission).to_have_count(1)
    formgrader.press(submission, "autograde")
    expect(submission.locator(".status")).to_have_text("needs manual grading")
    formgrader.page.screenshot(path=screenshots / "formgrader.png")


def test_a_written_answer_is_marked(formgrader: Formgrader, screenshots: Path) -> None:
    formgrader.go("Manual Grading", ONE.name, ONE.notebook, "Submission #1")
    expect(formgrader.frame.get_by_text(WORDS)).to_be_visible()
    formgrader.ready_to_mark()
    formgrader.saved("grade", WRITTEN, "0.5")
    formgrader.saved("comment", f"{WRITTEN}-comment", COMMENT)
    formgrader.page.screenshot(path=screenshots / "marking.png")
    formgrader.go("Manual Grading")


def test_the_student_reads_the_feedback(
    formgrader: Formgrader, lab: Lab, assignments: Page, screenshots: Path
) -> None:
    row = formgrader.row()
    formgrader.press(row, "generate-feedback")
    formgrader.press(row, "release-feedback")
    refreshed(assignments)
    assignments.get_by_role("button", name="Fetch Feedback").click()
    assignments.get_by_text("view feedback").click()
    # It leads to the page's folder in the file browser.
    assignments.locator(".jp-DirListing-item", has_text=".html").dblclick()
    page = assignments.frame_locator(".jp-HTMLViewer iframe, .jp-HTMLContainer iframe, iframe.jp-IFrame-body")
    summary = page.locator(".summary")
    expect(summary).to_contain_text("of 10 points")
    expect(summary).to_contain_text(COMMENT)
    expect(summary).to_contain_text("0.5 of 1")
    expect(summary.locator("tr", has_text=f"0 of {MISTAKEN.points}")).to_have_count(1)
    assignments.screenshot(path=screenshots / "feedback-in-jupyterlab.png")


def test_the_feedback_page_keeps_nobody_out(lab: Lab, open_page: OpenPage, screenshots: Path) -> None:
    (file,) = lab.server.folder.glob(f"{ONE.name}/feedback/*/*.html")
    with open_page() as page:
        page.goto(file.as_uri())
        page.screenshot(path=screenshots / "feedback.png", full_page=True)
        assert grave_findings(page) == []
