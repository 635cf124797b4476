"""Each student notebook in JupyterLab: untouched, and with the solutions typed in."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from autograder.course import ASSIGNMENTS, Assignment, assignment, find_course

from .answers import solved
from .axe import grave_findings
from .exploration import deaf_controls, explorations
from .workbench import Lab, errors

COURSE = find_course()
every = pytest.mark.parametrize("one", ASSIGNMENTS, ids=lambda one: one.name)


@every
def test_untouched_nothing_fails_but_what_is_to_be_done(lab: Lab, one: Assignment) -> None:
    lab.open(f"untouched/{one.name}/{one.file}")
    try:
        lab.run()
        raised = errors(lab.cells())
    finally:
        lab.close()
    assert raised
    assert {name for _, name, _ in raised} == {"NotImplementedError"}, raised


@pytest.fixture(scope="class", params=ASSIGNMENTS, ids=lambda one: one.name)
def answered(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Assignment]:
    """An assignment whose notebook is open, with everything answered and run."""
    one = request.param
    shutil.copytree(COURSE.release / one.name, lab.server.folder / "solved" / one.name)
    lab.server.save(f"solved/{one.name}/{one.file}", solved(COURSE, one))
    lab.open(f"solved/{one.name}/{one.file}")
    lab.run()
    yield one
    lab.close()


class TestAnswered:
    def test_runs_without_an_error(self, lab: Lab, answered: Assignment) -> None:
        assert errors(lab.cells()) == []

    def test_its_exploration_answers_the_keyboard(
        self, lab: Lab, answered: Assignment, screenshots: Path
    ) -> None:
        for number, exploration in enumerate(explorations(lab)):
            exploration.screenshot(path=screenshots / f"{answered.name}-exploration-{number}.png")
            assert deaf_controls(exploration) == []

    def test_its_exploration_keeps_nobody_out(self, lab: Lab, answered: Assignment) -> None:
        for exploration in explorations(lab):
            expect(exploration).to_be_visible()
            assert grave_findings(lab.page, ".exploration") == []

    def test_validates(self, lab: Lab, answered: Assignment, screenshots: Path) -> None:
        said = lab.validated(screenshots / f"{answered.name}-validated.png")
        assert "Success! Your notebook passes all the tests." in said


def test_a_mistake_typed_in_is_explained_and_its_mending_accepted(lab: Lab, screenshots: Path) -> None:
    one = assignment("01-derivatives")
    folder = lab.server.folder / "typed"
    shutil.copytree(COURSE.release / one.name, folder)
    untouched = {"derivative-square": "def d_square(x):\n    raise NotImplementedError()"}
    lab.server.save(f"typed/{one.file}", solved(COURSE, one, untouched))
    lab.open(f"typed/{one.file}")
    try:
        lab.replace_last_line("derivative-square", "return x ** 2")
        said = lab.validated(screenshots / "mistake.png")
        lab.replace_last_line("derivative-square", "return 2 * x")
        mended = lab.validated(screenshots / "mended.png")
    finally:
        lab.close()
    assert "At 3 the quotients 6.1, 6.01, 6.001 ... settle on 6; yours is 9." in said
    assert "Success! Your notebook passes all the tests." in mended
