"""One submission, bytes in and result out: what it carries, and what is drawn for whom."""

import copy
import json
import pickle

import nbformat
import pytest

from autograder import grade as grading
from autograder import marking
from autograder.course import assignment, find_course
from autograder.exercises import declared
from autograder.grade import Terms, Unconfined
from autograder.marking import Master, Task, carry_out
from autograder.sample import Plan, Release

COURSE = find_course()
FIRST, WRITTEN = assignment("01-derivatives"), assignment("07-gradient-descent")
UNCONFINED = Terms(confined=False)  # these submissions are our own


def master(one):
    """What the gradebook would know of an assignment, taken from the instructor's notebook."""
    source = nbformat.read(COURSE.source / one.name / one.file, as_version=4)
    cells = {
        cell.metadata.nbgrader.grade_id: (cell.source, "sum")
        for cell in source.cells
        if "nbgrader" in cell.metadata
    }
    return Master(one.name, COURSE.released(one).read_bytes(), cells, source.metadata.kernelspec)


def right(one):
    answers = {exercise.id: "reference" for exercise in declared(one).exercises}
    return Plan("right", answers | {written.id: "text 0" for written in declared(one).written})


def submission(one, change=lambda notebook: None):
    """All right, with a change made to the notebook; as a task."""
    data = Release.read(COURSE, one).submission(right(one))[one.file]
    notebook = json.loads(data)
    change(notebook)
    return Task("a student", master(one), {one.file: json.dumps(notebook).encode()}, "seed", UNCONFINED)


def plain_cells(notebook):
    return [
        cell
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and "nbgrader" not in cell["metadata"]
    ]


def drawn(result):
    """How many of the cells that draw in the course's own notebook show a picture, and how many do not."""
    cells = [
        cell for cell in plain_cells(json.loads(result.notebook)) if "figures.show" in "".join(cell["source"])
    ]
    shown = [any("text/html" in output.get("data", {}) for output in cell["outputs"]) for cell in cells]
    assert shown
    return shown.count(True), shown.count(False)


def test_a_result_has_everything_and_can_be_sent():
    task = submission(WRITTEN)
    result = pickle.loads(pickle.dumps(carry_out(pickle.loads(pickle.dumps(task)))))
    points = {f"{one.id}-test": float(one.points) for one in declared(WRITTEN).exercises}
    assert result.scores == points | {"descent-explain": None}
    assert result.unanswered == frozenset()
    assert result.reason is None
    assert result.notes == ()
    notebook = nbformat.reads(result.notebook.decode(), as_version=4)
    nbformat.validate(notebook)
    hidden = [cell for cell in notebook.cells if "### BEGIN HIDDEN TESTS" in cell.source]
    assert len(hidden) == len(declared(WRITTEN).exercises)


def test_what_is_as_it_was_released_has_no_response_and_no_points():
    one = WRITTEN
    task = Task("a student", master(one), {one.file: COURSE.released(one).read_bytes()}, "seed", UNCONFINED)
    result = carry_out(task)
    assert set(result.scores.values()) == {0.0}
    written = {one.id for one in declared(one).written}
    assert result.unanswered == {exercise.id for exercise in declared(one).exercises} | written


@pytest.mark.parametrize("name", ["04-gradient-check", "08-learning-rate"])
def test_what_is_given_runs_however_long_scratch_cells_took(monkeypatch, name):
    """Else right answers would lose the imports and the classes that the notebook gives."""
    monkeypatch.setattr(grading, "PLAIN_SECONDS", 0.0)
    one = assignment(name)

    def scratch(notebook):
        cell = nbformat.v4.new_code_cell("print('mine')")
        notebook["cells"].insert(0, {key: value for key, value in cell.items() if key != "id"})

    task = submission(one, scratch)
    result = carry_out(task)
    assert result.scores == carry_out(submission(one)).scores
    assert sum(score or 0.0 for score in result.scores.values()) == declared(one).points - sum(
        written.points for written in declared(one).written
    )
    assert "This cell was left out" in result.notebook.decode()


def test_a_folder_without_a_notebook_has_a_result_with_its_reason():
    result = carry_out(Task("a student", master(FIRST), {}, "seed", UNCONFINED))
    assert set(result.scores.values()) == {0.0}
    assert result.reason == result.notes[0]
    assert FIRST.file in result.reason


def test_nothing_is_drawn_where_nobody_has_to_look():
    shown, undrawn = drawn(carry_out(submission(FIRST)))
    assert shown == 0
    assert undrawn > 0


def test_everything_is_drawn_where_that_is_asked_for():
    task = submission(FIRST)
    asked = Task(task.student, task.master, task.notebooks, task.seed, Terms(figures=True, confined=False))
    shown, undrawn = drawn(carry_out(asked))
    assert shown > 0
    assert undrawn == 0


def test_a_notebook_that_a_person_reads_has_its_pictures():
    shown, undrawn = drawn(carry_out(submission(WRITTEN)))
    assert shown > 0
    assert undrawn == 0


def test_a_cell_that_was_changed_draws_what_it_was_changed_to():
    def change(notebook):
        cell = next(cell for cell in plain_cells(notebook) if "figures.show" in "".join(cell["source"]))
        cell["source"] = (
            'figure, ax = figures.axes("x", "y", "mine")\nfigures.show(figure, "my own picture")\n'
        )

    result = carry_out(submission(WRITTEN, change))
    assert b'alt=\\"my own picture\\"' in result.notebook
    assert drawn(result)[1] == 0


def test_pictures_are_those_of_the_answers_when_these_are_right():
    """What is drawn once for the class is what the submission itself would have drawn."""
    task = submission(WRITTEN)
    own = Task(task.student, task.master, task.notebooks, task.seed, Terms(figures=True, confined=False))
    shared, drawn_itself = (json.loads(carry_out(one).notebook) for one in (task, own))
    for a, b in zip(plain_cells(shared), plain_cells(drawn_itself), strict=True):
        assert a["outputs"] == b["outputs"]


def test_cells_without_points_share_their_time(monkeypatch):
    monkeypatch.setattr(grading, "PLAIN_SECONDS", 1.5)

    def change(notebook):
        cell = copy.deepcopy(plain_cells(notebook)[0])
        cell["source"] = "while True:\n    pass\n"
        notebook["cells"] += [{**copy.deepcopy(cell), "id": f"endless-{number}"} for number in range(20)]

    task = submission(FIRST, change)
    result = carry_out(
        Task(task.student, task.master, task.notebooks, task.seed, Terms(seconds=1.0, confined=False))
    )
    assert sum(score or 0 for score in result.scores.values()) == declared(FIRST).points
    ended = [
        cell["outputs"][0]["evalue"]
        for cell in json.loads(result.notebook)["cells"]
        if "".join(cell["source"]).strip() == "while True:\n    pass"
    ]
    assert len(ended) == 20
    assert sum("did not finish within" in text for text in ended) == 2
    assert sum("all that they have" in text for text in ended) == 18


@pytest.mark.parametrize("lines", [899, 900, 901, 5000])
def test_as_many_lines_are_kept_as_nbgrader_does_not_cut(lines):
    def change(notebook):
        plain_cells(notebook)[0]["source"] = f"for number in range({lines}):\n    print(number)\n"

    cell = plain_cells(json.loads(carry_out(submission(FIRST, change)).notebook))[0]
    text = "".join(cell["outputs"][0]["text"])
    assert ("... Output truncated ..." in text) == (lines >= 900)  # the last line's end begins another
    assert len(text.splitlines()) <= 1000


def test_what_nobody_has_thought_of_gives_no_points_and_says_so(monkeypatch):
    """Where the grading itself fails at an answer, its author has a result, and a person learns of it."""
    task = submission(FIRST)
    mark, failures = marking.mark, [ZeroDivisionError("never thought of")]

    def failing(*arguments):
        if failures:
            raise failures.pop()
        return mark(*arguments)

    monkeypatch.setattr(marking, "mark", failing)
    result = carry_out(task)
    assert (
        result.reason
        == "It could not be graded, since the grading itself failed (ZeroDivisionError): tell your instructor."
    )
    assert set(result.scores.values()) == {0.0}
    assert json.loads(result.notebook)["metadata"]["autograder"]["notes"] == [result.reason]
    assert carry_out(task).reason is None


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), Unconfined("landlock")])
def test_what_is_no_fault_of_a_submission_is_not_held_against_it(monkeypatch, error):
    monkeypatch.setattr(marking, "mark", lambda *_: (_ for _ in ()).throw(error))
    with pytest.raises(type(error)):
        carry_out(submission(FIRST))
