"""nbgrader's own commands, with our execution in them, on submissions in every state."""

import copy
import json
import shutil

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.coursedir import CourseDirectory

from autograder.course import Course, assignment, find_course
from autograder.damage import DAMAGES
from autograder.exercises import declared
from autograder.nbgrader_plugin import generate_release, load_config
from autograder.sample import Plan, Release

COURSE = find_course()
FIRST = assignment("01-derivatives")
DECLARED = declared(FIRST)
HIT = "derivative-square"
RIGHT = {exercise.id: "reference" for exercise in DECLARED.exercises}


class Class:
    """A course folder with submissions, graded by nbgrader as its command does it."""

    def __init__(self, root):
        self.course = Course(root)
        shutil.copyfile(COURSE.root / "nbgrader_config.py", root / "nbgrader_config.py")
        shutil.copytree(COURSE.source / FIRST.name, root / "source" / FIRST.name)
        self.release = Release.read(COURSE, FIRST)
        generate_release(root / "nbgrader_config.py", root, [FIRST])
        self.config = load_config(root / "nbgrader_config.py")
        self.config.JudgedExecute.seconds = 3.0
        self.url = f"sqlite:///{root / 'gradebook.db'}"

    def hand_in(self, student, files):
        folder = self.course.root / "submitted" / student / FIRST.name
        folder.mkdir(parents=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)

    def run(self, converter, student="*"):
        course = CourseDirectory(config=self.config, assignment_id=FIRST.name, student_id=student)
        one = converter(coursedir=course, config=self.config)
        one.force = True
        one.start()

    def score(self, student):
        with Gradebook(self.url) as gradebook:
            return gradebook.find_submission(FIRST.name, student).score

    def graded(self, student):
        path = self.course.root / "autograded" / student / FIRST.name / FIRST.file
        return nbformat.read(path, as_version=4)

    def page(self, student):
        path = self.course.root / "feedback" / student / FIRST.name / f"{FIRST.notebook}.html"
        return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """One submission for each damage, all graded in one batch, with their pages."""
    room = Class(tmp_path_factory.mktemp("damaged"))
    for name in DAMAGES:
        room.hand_in(name.replace(" ", "-"), room.release.submission(Plan("damaged", RIGHT, name, HIT)))
    room.hand_in("with.dot and space", room.release.submission(Plan("right", RIGHT)))
    room.run(Autograde)
    room.run(GenerateFeedback)
    return room


@pytest.mark.parametrize("name", DAMAGES)
def test_every_damaged_submission_gets_the_score_it_deserves(damaged, name):
    points = DECLARED.points
    deserved = {"nothing": points, "exercise": points - DECLARED.exercise(HIT).points, "everything": 0}
    assert damaged.score(name.replace(" ", "-")) == deserved[DAMAGES[name].loses]


@pytest.mark.parametrize(
    "name", [name for name, damage in DAMAGES.items() if damage.told in ("repair", "pick")]
)
def test_what_was_mended_stands_on_the_page(damaged, name):
    page = damaged.page(name.replace(" ", "-"))
    notes = damaged.graded(name.replace(" ", "-")).metadata["autograder"]["notes"]
    assert notes
    assert "About the file that you handed in" in page
    assert f"<li>{notes[0][:20]}" in page


def test_a_student_whose_id_has_a_dot_and_a_space_is_graded(damaged):
    assert damaged.score("with.dot and space") == DECLARED.points
    assert "About the file" not in damaged.page("with.dot and space")


def test_pages_show_no_hidden_test_and_no_stack_of_ours(damaged):
    for student in (damaged.course.root / "feedback").iterdir():
        page = damaged.page(student.name)
        assert "HIDDEN TESTS" not in page
        assert "check(" not in page
        assert "autograder/" not in page


def test_a_page_begins_with_a_table_of_points_and_reasons(damaged):
    page = damaged.page("answer-deleted")
    table = page[page.index("<table>") : page.index("</table>")]
    assert page.index("<table>") < page.index("What a derivative is good for")
    assert "9 of 10 points" in page
    assert "The derivative of the square" in table
    assert "0 of 1" in table
    assert table.count("Right.") == 5


def test_grading_again_gives_the_same_bytes(damaged):
    path = damaged.course.root / "autograded" / "input" / FIRST.name / FIRST.file
    before = path.read_bytes()
    damaged.run(Autograde, "input")
    assert path.read_bytes() == before
    assert damaged.score("input") == DECLARED.points


def test_a_part_of_the_points_reaches_the_gradebook_and_the_page(tmp_path):
    room = Class(tmp_path)
    room.hand_in(
        "partly",
        room.release.submission(Plan("partly", {**RIGHT, "derivative-gradient": "mistake changes-point"})),
    )
    room.run(Autograde)
    room.run(GenerateFeedback)
    assert room.score("partly") == 8.5
    assert "1.5 of 3" in room.page("partly")


def test_without_the_line_plain_nbgrader_grades_in_a_kernel_and_says_so(tmp_path):
    room = Class(tmp_path)
    config = (tmp_path / "nbgrader_config.py").read_text(encoding="utf-8")
    assert "\nconfigure(c)\n" in config
    (tmp_path / "nbgrader_config.py").write_text(config.replace("\nconfigure(c)\n", "\n"), encoding="utf-8")
    room.config = load_config(tmp_path / "nbgrader_config.py")
    room.hand_in("right", room.release.submission(Plan("right", RIGHT)))
    room.hand_in("wrong", room.release.submission(Plan("wrong", {**RIGHT, HIT: "mistake the-square"})))
    room.run(Autograde)
    assert room.score("right") == 10
    assert room.score("wrong") == 9
    text = json.dumps(copy.deepcopy(room.graded("right")))
    assert "judged inside the kernel" in text
