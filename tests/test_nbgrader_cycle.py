"""nbgrader's whole cycle by its own commands, with an exchange folder and without."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.course import assignment, find_course
from autograder.damage import find_cell, set_source
from autograder.exercises import declared
from autograder.sample import Plan, Release

COURSE = find_course()
ONE = assignment("07-gradient-descent")
DECLARED = declared(ONE)
RIGHT = {exercise.id: "reference" for exercise in DECLARED.exercises} | {"descent-explain": "text 1"}
POINTS = sum(exercise.points for exercise in DECLARED.exercises)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="nbgrader's exchange needs a POSIX file system")


class People:
    """An instructor's course folder, a student's folder, and the exchange between them."""

    def __init__(self, root: Path) -> None:
        self.instructor, self.student, self.exchange = root / "course", root / "student", root / "exchange"
        for folder in (self.instructor, self.student, self.exchange):
            folder.mkdir()
        self.exchange.chmod(0o777)
        shutil.copyfile(COURSE.root / "nbgrader_config.py", self.instructor / "nbgrader_config.py")
        shutil.copytree(COURSE.source / ONE.name, self.instructor / "source" / ONE.name)
        (self.student / "nbgrader_config.py").write_text(
            "c = get_config()\nc.CourseDirectory.course_id = 'autograd-by-hand'\n"
            f"c.Exchange.root = {str(self.exchange)!r}\n",
            encoding="utf-8",
        )
        self.environment = os.environ | {
            "AUTOGRADER_EXCHANGE": str(self.exchange),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "JUPYTER_DATA_DIR": str(root / "data"),
            "HOME": str(root),
            "USER": "student-01",
            "LOGNAME": "student-01",
        }

    def run(self, where: Path, *command: str, fails: bool = False) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command],
            cwd=where,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert bool(done.returncode) == fails, done.stderr[-3000:]
        return done.stdout + done.stderr

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.instructor / 'gradebook.db'}")

    def mark(self, student: str, points: float, comment: str) -> None:
        """As Formgrader saves it."""
        with self.gradebook() as gradebook:
            grade = gradebook.find_grade("descent-explain", ONE.notebook, ONE.name, student)
            grade.manual_score, grade.needs_manual_grade = points, False
            gradebook.find_comment(
                "descent-explain", ONE.notebook, ONE.name, student
            ).manual_comment = comment
            gradebook.db.commit()

    def score(self, student: str) -> float:
        with self.gradebook() as gradebook:
            return gradebook.find_submission(ONE.name, student).score


@pytest.fixture
def people(tmp_path):
    return People(tmp_path)


def test_the_cycle_with_an_exchange(people):
    teach, learn = people.instructor, people.student
    people.run(teach, "generate_assignment", ONE.name)
    people.run(teach, "release_assignment", ONE.name)
    assert ONE.name in people.run(learn, "list")
    people.run(learn, "fetch_assignment", ONE.name)
    mine = learn / ONE.name / ONE.file
    assert mine.read_bytes() == (COURSE.release / ONE.name / ONE.file).read_bytes()
    mine.write_bytes(Release.read(COURSE, ONE).answered(RIGHT))
    people.run(learn, "submit", ONE.name)

    people.run(teach, "collect", ONE.name)
    (student,) = [path.name for path in (teach / "submitted").iterdir()]
    people.run(teach, "autograde", ONE.name)
    assert people.score(student) == POINTS
    people.mark(student, 1, "Clear, and to the point.")
    assert people.score(student) == POINTS + 1
    people.run(teach, "generate_feedback", ONE.name)
    people.run(teach, "release_feedback", ONE.name)
    people.run(teach, "export", "--to", "grades.csv")
    with (teach / "grades.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["student_id"], float(row["score"]), float(row["max_score"])) == (
        student,
        POINTS + 1,
        POINTS + 1,
    )

    people.run(learn, "fetch_feedback", ONE.name)
    (page,) = learn.glob(f"{ONE.name}/feedback/*/*.html")
    text = page.read_text(encoding="utf-8")
    assert f"{POINTS + 1} of {POINTS + 1} points" in text
    assert text.count("Clear, and to the point.") >= 2  # in the table and at the answer


def test_the_cycle_with_plain_folders(people):
    teach = people.instructor
    people.run(teach, "generate_assignment", ONE.name)
    release = Release.read(COURSE, ONE)
    mistake = DECLARED.exercises[0].mistakes[0].id
    plans = {
        "right": Plan("right", RIGHT),
        "one-mistake": Plan("partly", {**RIGHT, DECLARED.exercises[0].id: f"mistake {mistake}"}),
        "untouched": Plan("untouched", {}),
    }
    for student, plan in plans.items():
        folder = teach / "submitted" / student / ONE.name
        folder.mkdir(parents=True)
        for name, data in release.submission(plan).items():
            (folder / name).write_bytes(data)
    people.run(teach, "autograde", ONE.name)
    assert people.score("right") == POINTS
    assert POINTS - DECLARED.exercises[0].points <= people.score("one-mistake") < POINTS
    assert people.score("untouched") == 0
    people.run(teach, "generate_feedback", ONE.name)
    assert len(list(teach.glob("feedback/*/*/*.html"))) == 3
    people.mark("right", 0.5, "Say why.")
    people.run(teach, "autograde", ONE.name, "--force")
    assert people.score("right") == POINTS + 0.5  # a person's mark outlives another run


FIRST = assignment("01-derivatives")
REFERENCES = {exercise.id: exercise.reference for exercise in declared(FIRST).exercises}


class TestValidate:
    """What a student's Validate button runs."""

    def validate(self, people, answers):
        """The words of `nbgrader validate` on the first notebook with these answers."""
        folder = people.student / "work"
        shutil.copytree(COURSE.release / FIRST.name, folder)
        notebook = json.loads(Release.read(COURSE, FIRST).answered({}))
        for name, code in answers.items():
            set_source(find_cell(notebook, name), code)
        (folder / FIRST.file).write_text(json.dumps(notebook), encoding="utf-8")
        return people.run(folder, "validate", FIRST.file)

    def test_right(self, people):
        assert "Success! Your notebook passes all the tests." in self.validate(people, REFERENCES)

    def test_wrong_shows_the_visible_test_s_sentence_alone(self, people):
        wrong = {**REFERENCES, "derivative-square": "def d_square(x):\n    return x ** 2\n"}
        said = self.validate(people, wrong)
        assert "VALIDATION FAILED ON 1 CELL" in said
        assert "At 3 the quotients 6.1, 6.01, 6.001 ... settle on 6; yours is 9." in said
        assert "autograder" not in said
        assert "check(" not in said

    def test_untouched(self, people):
        said = self.validate(people, {})
        assert "NotImplementedError" in said
        assert "NameError" not in said
        assert "autograder" not in said
