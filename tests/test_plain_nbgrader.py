"""The course under plain nbgrader: kernels, stock preprocessors, judged by the hidden tests alone."""

import json
import shutil
from itertools import count

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.coursedir import CourseDirectory

from autograder.course import ASSIGNMENTS, find_course
from autograder.exercises import declared
from autograder.nbgrader_plugin import generate_release, load_config

COURSE = find_course()

NOTEBOOKS = 2  # of each kind: a kernel takes seconds; the audit tries every answer, by the same judge
every_assignment = pytest.mark.parametrize("one", ASSIGNMENTS, ids=lambda one: one.name)


class Plain:
    """A course folder of one assignment whose configuration leaves nbgrader as it is."""

    def __init__(self, root, one):
        self.root, self.one = root, one
        text = (COURSE.root / "nbgrader_config.py").read_text(encoding="utf-8")
        (root / "nbgrader_config.py").write_text(text.replace("\nconfigure(c)\n", "\n"), encoding="utf-8")
        shutil.copytree(COURSE.source / one.name, root / "source" / one.name)
        generate_release(root / "nbgrader_config.py", root, [one])
        self.names = (f"student-{number:03}" for number in count())

    def hand_in(self, folder, answers=None, whole=True):
        """One submission: the notebook of `folder` with other code in the solution cells of `answers`."""
        student = next(self.names)
        place = self.root / "submitted" / student / self.one.name
        shutil.copytree(self.root / folder / self.one.name, place)
        notebook = json.loads((place / self.one.file).read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            name = cell["metadata"].get("nbgrader", {}).get("grade_id")
            cell["source"] = (answers or {}).get(name, cell["source"])
        if not whole:  # prose and figures bear on no score, and take time
            notebook["cells"] = [cell for cell in notebook["cells"] if "nbgrader" in cell["metadata"]]
        (place / self.one.file).write_text(json.dumps(notebook), encoding="utf-8")
        return student

    def autograde(self):
        config = load_config(self.root / "nbgrader_config.py")
        course = CourseDirectory(config=config, assignment_id=self.one.name, student_id="*")
        Autograde(coursedir=course, config=config).start()

    def scores(self, student):
        with Gradebook(f"sqlite:///{self.root / 'gradebook.db'}") as gradebook:
            submission = gradebook.find_submission_notebook(self.one.notebook, self.one.name, student)
            return {grade.name.removesuffix("-test"): grade.auto_score for grade in submission.grades}

    def errors(self, student):
        path = self.root / "autograded" / student / self.one.name / self.one.file
        notebook = nbformat.read(path, as_version=4)
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        return [output.ename for output in outputs if output.output_type == "error"]


@pytest.fixture
def plain(tmp_path, one):
    return Plain(tmp_path, one)


@every_assignment
def test_instructor_s_untouched_and_variants(plain, one):
    """All automatic points, none, and all again for variants, several in one notebook."""
    notebook = declared(one)
    instructor, untouched = plain.hand_in("source"), plain.hand_in("release")
    variants = [(exercise, code) for exercise in notebook.exercises for code in exercise.variants.values()]
    handed_in = [
        (plain.hand_in("source", {exercise.id: code for exercise, code in batch}, whole=False), batch)
        for batch in packed(variants, apart)[:NOTEBOOKS]
    ]
    plain.autograde()
    full = {exercise.id: exercise.points for exercise in notebook.exercises}
    by_hand = dict.fromkeys((written.id for written in notebook.written), None)
    assert plain.scores(instructor) == full | by_hand
    assert plain.errors(instructor) == []
    for student, batch in handed_in:
        scores = plain.scores(student)
        for exercise, code in batch:  # the solutions beside it may want another form of its answer
            assert scores[exercise.id] == exercise.points, code
    assert set(plain.errors(untouched)) == {"NotImplementedError"}
    # A written answer that was not touched is worth 0 without anybody's reading it.
    assert plain.scores(untouched) == dict.fromkeys([*full, *by_hand], 0)


def test_the_automatic_points_are_98():
    assert sum(exercise.points for one in ASSIGNMENTS for exercise in declared(one).exercises) == 98


def codes(exercise):
    """All declared answers to an exercise, as one text."""
    mistakes = [mistake.code for mistake in exercise.mistakes]
    return " ".join([exercise.reference, *exercise.variants.values(), *mistakes])


def apart(a, b):
    """Whether no answer of either exercise mentions the other's names."""
    return a is not b and not any(
        name in codes(other) for one, other in ((a, b), (b, a)) for name in one.names
    )


def far_apart(a, b):
    """Whether neither can fail by the other's mistake: nor are they attached to one class."""
    return apart(a, b) and not (a.attach or b.attach)


def packed(answers, may_share):
    """Pairs of exercise and answer in as few notebooks as the rule lets share one."""
    notebooks = []
    for exercise, answer in answers:
        fits = (one for one in notebooks if all(may_share(exercise, other) for other, _ in one))
        place = next(fits, None)
        if place is None:
            notebooks.append(place := [])
        place.append((exercise, answer))
    return notebooks


@every_assignment
def test_known_mistakes_lose_points(plain, one):
    notebook = declared(one)
    handed_in = [
        (plain.hand_in("source", {e.id: m.code for e, m in batch}, whole=False), batch)
        for batch in packed([(e, m) for e in notebook.exercises for m in e.mistakes], far_apart)[:NOTEBOOKS]
    ]
    plain.autograde()
    for student, batch in handed_in:
        scores = plain.scores(student)
        for exercise, mistake in batch:
            assert scores[exercise.id] < exercise.points, mistake.id
