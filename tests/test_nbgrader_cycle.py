"""nbgrader's whole cycle by its own commands, with an exchange folder and without."""

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderApp
from traitlets.config import Application

from autograder.course import Assignment, assignment, find_course
from autograder.damage import find_cell, set_source
from autograder.exercises import declared
from autograder.sample import Plan, Release

COURSE = find_course()
FIRST = assignment("01-derivatives")  # judged automatically
WORDS = assignment("07-gradient-descent")  # with an answer in words
WRITTEN = {WORDS.name: ("descent-explain", 1)}  # its id and its points, as in the contract


class People:
    """An instructor's course folder, a student's folder, and the exchange between them."""

    def __init__(self, root: Path, one: Assignment) -> None:
        self.instructor, self.student, self.exchange = root / "course", root / "student", root / "exchange"
        for folder in (self.instructor, self.student, self.exchange):
            folder.mkdir()
        self.exchange.chmod(0o777)
        self.one, self.exercises = one, declared(one).exercises
        self.points = sum(exercise.points for exercise in self.exercises)  # without a person's
        self.written, self.written_points = WRITTEN.get(one.name, (None, 0))
        shutil.copyfile(COURSE.root / "nbgrader_config.py", self.instructor / "nbgrader_config.py")
        shutil.copytree(COURSE.source / one.name, self.instructor / "source" / one.name)
        (self.student / "nbgrader_config.py").write_text(
            "c = get_config()\nc.CourseDirectory.course_id = 'autograd-by-hand'\n"
            f"c.Exchange.root = {str(self.exchange)!r}\n",
            encoding="utf-8",
        )
        self.variables = {
            "AUTOGRADER_EXCHANGE": str(self.exchange),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "JUPYTER_DATA_DIR": str(root / "data"),
            "HOME": str(root),
            "USER": "student-01",
            "LOGNAME": "student-01",
        }

    def typed(self, where: Path, *command: str) -> str:
        """A command in a process of its own, as someone types it."""
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *command],
            cwd=where,
            env=os.environ | self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout + done.stderr

    def run(self, where: Path, *command: str) -> str:
        """A command in this process, which has nbgrader loaded: a process of its own takes three seconds."""
        with pytest.MonkeyPatch.context() as patch, io.StringIO() as told:
            patch.chdir(where)
            for name, value in self.variables.items():
                patch.setenv(name, value)
            patch.setattr("sys.stdout", told)
            patch.setattr("sys.stderr", told)
            try:
                NbGraderApp.launch_instance([*command])
            except SystemExit as end:
                if end.code:
                    pytest.fail(f"nbgrader {' '.join(command)}: {told.getvalue()[-3000:]}")
            finally:
                type(Application.instance()).clear_instance()  # the command's own, with its configuration
            return told.getvalue()

    def teach(self, command: str) -> None:
        self.run(self.instructor, command, self.one.name)

    def learn(self, command: str) -> None:
        self.run(self.student, command, self.one.name)

    def answered(self, **others: str) -> dict[str, str]:
        """A plan's answers: everything right but `others`."""
        right = {exercise.id: "reference" for exercise in self.exercises}
        words = {self.written: "text 1"} if self.written else {}
        return right | words | {name.replace("_", "-"): answer for name, answer in others.items()}

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.instructor / 'gradebook.db'}")

    def mark(self, student: str, points: float, comment: str) -> None:
        """As Formgrader saves it."""
        place = (self.written, self.one.notebook, self.one.name, student)
        with self.gradebook() as gradebook:
            grade = gradebook.find_grade(*place)
            assert grade.needs_manual_grade
            grade.manual_score, grade.needs_manual_grade = points, False
            gradebook.find_comment(*place).manual_comment = comment
            gradebook.db.commit()

    def score(self, student: str) -> float:
        with self.gradebook() as gradebook:
            return gradebook.find_submission(self.one.name, student).score


@pytest.fixture
def people(request, tmp_path):
    return People(tmp_path, getattr(request, "param", FIRST))


both = pytest.mark.parametrize("people", [FIRST, WORDS], indirect=True, ids=lambda one: one.name)


@pytest.mark.skipif(os.name == "nt", reason="nbgrader's exchange needs a POSIX file system")
@both
def test_the_cycle_with_an_exchange(people):
    one = people.one
    people.teach("generate_assignment")
    people.teach("release_assignment")
    assert one.name in people.run(people.student, "list")
    people.learn("fetch_assignment")
    mine = people.student / one.name / one.file
    assert mine.read_bytes() == COURSE.released(one).read_bytes()
    mine.write_bytes(Release.read(COURSE, one).answered(people.answered()))
    people.learn("submit")

    people.teach("collect")
    (student,) = [path.name for path in (people.instructor / "submitted").iterdir()]
    people.teach("autograde")
    assert people.score(student) == people.points
    if people.written:
        people.mark(student, people.written_points, "Clear, and to the point.")
    assert people.score(student) == one.points
    people.teach("generate_feedback")
    people.teach("release_feedback")
    people.run(people.instructor, "export", "--to", "grades.csv")
    with (people.instructor / "grades.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert (row["student_id"], float(row["score"]), float(row["max_score"])) == (
        student,
        one.points,
        one.points,
    )

    people.learn("fetch_feedback")
    (page,) = people.student.glob(f"{one.name}/feedback/*/*.html")
    text = page.read_text(encoding="utf-8")
    assert f"{one.points} of {one.points} points" in text
    if people.written:
        assert text.count("Clear, and to the point.") >= 2  # in the table and at the answer


@both
def test_the_cycle_with_plain_folders(people):
    one, missed = people.one, people.exercises[0]
    people.typed(people.instructor, "generate_assignment", one.name)
    release = Release.read(COURSE, one)
    mistaken = people.answered(**{missed.id: f"mistake {missed.mistakes[0].id}"})
    plans = {
        "right": Plan("right", people.answered()),
        "one-mistake": Plan("partly", mistaken),
        "untouched": Plan("untouched", {}),
    }
    for student, plan in plans.items():
        folder = people.instructor / "submitted" / student / one.name
        folder.mkdir(parents=True)
        for name, data in release.submission(plan).items():
            (folder / name).write_bytes(data)
    people.typed(people.instructor, "autograde", one.name)
    assert people.score("right") == people.points
    assert people.points - missed.points <= people.score("one-mistake") < people.points
    assert people.score("untouched") == 0
    with people.gradebook() as gradebook:
        book = gradebook.find_submission_notebook(one.notebook, one.name, "one-mistake")
        lost = {grade.name for grade in book.grades if grade.auto_score is not None}
        lost -= {grade.name for grade in book.grades if grade.auto_score == grade.max_score}
    assert lost == {f"{missed.id}-test"}
    people.typed(people.instructor, "generate_feedback", one.name)
    assert len(list(people.instructor.glob("feedback/*/*/*.html"))) == 3
    if people.written:
        people.mark("right", 0.5, "Say why.")
        people.typed(people.instructor, "autograde", one.name, "--force")
        assert people.score("right") == people.points + 0.5  # a person's mark outlives another run


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
        return people.typed(folder, "validate", FIRST.file)

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
