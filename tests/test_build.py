"""The build: up to date, repeatable, faithful to the contract, and a way back for an instructor."""

import shutil
from pathlib import Path

import nbformat
import pytest

from autograder import cli
from autograder.build import bring_back, build, check_contract
from autograder.course import ASSIGNMENTS, Course, CourseError, assignment, find_course, select
from autograder.exercises import declared
from autograder.text import TextError, load_text

COURSE = find_course()
FIRST = ASSIGNMENTS[0]


@pytest.fixture
def copy(tmp_path: Path) -> Course:
    """A copy of the course's first assignment, to break."""
    for folder in ("notebooks", "source", "release"):
        shutil.copytree(COURSE.root / folder / FIRST.name, tmp_path / folder / FIRST.name)
    shutil.copyfile(COURSE.root / "nbgrader_config.py", tmp_path / "nbgrader_config.py")
    return Course(tmp_path)


def edit(course: Course, old: str, new: str) -> None:
    path = course.text(FIRST)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_source_and_release_are_up_to_date():
    assert build(COURSE, ASSIGNMENTS, check=True) == []


def test_building_from_nothing_gives_the_committed_bytes(copy):
    shutil.rmtree(copy.source)
    shutil.rmtree(copy.release)
    build(copy, [FIRST])
    for folder in ("source", "release"):
        for file in (COURSE.root / folder / FIRST.name).iterdir():
            assert (copy.root / folder / FIRST.name / file.name).read_bytes() == file.read_bytes()
    assert build(copy, [FIRST]) == []


def test_check_says_which_file_has_drifted_and_changes_nothing(copy):
    drifted = copy.release / FIRST.name / FIRST.file
    drifted.write_bytes(drifted.read_bytes() + b"\n")
    (copy.source / FIRST.name / "figures.py").unlink()
    (copy.source / FIRST.name / "left.txt").touch()
    assert build(copy, [FIRST], check=True) == [
        "source/01-derivatives/figures.py: missing",
        "source/01-derivatives/left.txt: no longer built",
        "release/01-derivatives/derivatives.ipynb: out of date",
    ]
    assert drifted.read_bytes().endswith(b"\n\n")


CONTRACT = {
    "other points": ("test derivative-square 1", "test derivative-square 2", "card with other than 2"),
    "other points on the card, too": ("**1 point** · 5", "**2 points** · 5", "card with other than 1"),
    "no test": (":nbgrader: test derivative-square 1", ":nbgrader: given square", "not followed by its test"),
    "no solution": (":nbgrader: solution derivative-square", ":nbgrader: given square", "does not follow"),
    "not declared": ("solution derivative-rise", "solution derivative-fall", "not followed by its test"),
    "no hidden test": ('check("derivative-rise")', 'check("derivative-step")', "hidden test"),
    "no solution region": (
        "    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION",
        "    return 2 * x",
        "no BEGIN SOLUTION",
    ),
    "no card": ("**1 point** · 5 minutes", "1 point, 5 minutes", "no card"),
    "no third hint": ("<summary>Hint 3: let", "<summary>Hint: let", "no folded 'Hint 3'"),
    "no help": ('<summary>Help: "the slope', '<summary>Also: "the slope', "no folded 'Help'"),
}


@pytest.mark.parametrize("breach", CONTRACT)
def test_a_breach_of_the_contract_names_file_and_cell(copy, breach):
    old, new, complaint = CONTRACT[breach]
    edit(copy, old, new)
    with pytest.raises(TextError) as error:
        build(copy, [FIRST])
    assert complaint in str(error.value)
    assert "notebooks/01-derivatives/derivatives.md, cell '" in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "### END SOLUTION",
            "### END SOLUTION\n\nThe loss is 0.05575.",
            "does not end with '### END SOLUTION'",
        ),
        ("\n\n### END SOLUTION", "", "does not end with '### END SOLUTION'"),
        ("### BEGIN SOLUTION", "", "has no model answer"),
    ],
)
def test_a_written_answer_s_cell_holds_nothing_after_its_model_answer(old, new, complaint):
    one = assignment("07-gradient-descent")
    notebook = load_text(COURSE.text(one), "here")
    check_contract(notebook, one, declared(one), "here")
    cell = next(cell for cell in notebook.cells if cell.id == "descent-explain")
    assert old in cell.source
    cell.source = cell.source.replace(old, new)
    with pytest.raises(TextError, match=complaint) as error:
        check_contract(notebook, one, declared(one), "here")
    assert "here, cell 'descent-explain'" in str(error.value)


def test_an_exercise_that_is_gone_or_not_declared_is_named(copy):
    text = copy.text(FIRST)
    whole = text.read_text(encoding="utf-8")
    start = whole.index("### Exercise: right or left?")
    end = whole.index("### Exercise: one step")
    text.write_text(whole[:start] + whole[end:], encoding="utf-8")
    with pytest.raises(TextError, match=r"missing: derivative-direction \(1\); not declared: none"):
        build(copy, [FIRST])


def test_every_notebook_has_the_contract_s_points():
    assert sum(one.points for one in ASSIGNMENTS) == 100
    for one in ASSIGNMENTS:
        assert declared(one).points == one.points


def test_a_notebook_edited_in_jupyter_comes_back_into_the_text(copy):
    path = copy.source / FIRST.name / FIRST.file
    notebook = nbformat.read(path, as_version=4)
    before = copy.text(FIRST).read_text(encoding="utf-8")
    prose = next(cell for cell in notebook.cells if "## Downhill" in cell.source)
    prose.source = prose.source.replace("## Downhill", "## Down the hill")
    code = next(cell for cell in notebook.cells if cell.cell_type == "code")
    code.execution_count = 7
    code.outputs = [nbformat.v4.new_output("stream", text="ran")]
    code.metadata["collapsed"] = False
    added = nbformat.v4.new_code_cell("three = 3")  # as the Create Assignment sidebar leaves a locked cell
    added.metadata["nbgrader"] = {
        "grade": False, "grade_id": "three", "locked": True, "schema_version": 3, "solution": False, "task": False,
    }  # fmt: skip
    notebook.cells.insert(3, added)
    nbformat.write(notebook, path)

    assert bring_back(copy, FIRST)
    after = copy.text(FIRST).read_text(encoding="utf-8")
    given = "```{code-cell}\n:nbgrader: given three\n\nthree = 3\n```\n\n"
    assert after.replace(given, "").replace("## Down the hill", "## Downhill") == before
    assert given in after
    build(copy, [FIRST])
    assert not bring_back(copy, FIRST)
    assert '"output_type"' not in path.read_text(encoding="utf-8")


BAD_CALLS = {
    "no such assignment": (
        ["build", "09-more"],
        "there is no assignment '09-more': choose from 01-derivatives",
    ),
    "a missing text": (["build", "02-chain-rule"], "02-chain-rule/chain_rule.md is missing"),
    "an unbuilt course": (["build", "--back", "02-chain-rule"], "run 'autograder build 02-chain-rule' first"),
}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_a_bad_call_ends_with_one_line(call, copy, monkeypatch, capsys):
    arguments, complaint = BAD_CALLS[call]
    monkeypatch.chdir(copy.root)
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1


def test_outside_of_a_course_the_program_says_where_to_go(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["build"]) == 2
    assert "change into the folder that holds nbgrader_config.py" in capsys.readouterr().err


def test_a_notebook_that_nbgrader_refuses_is_named(copy):
    edit(
        copy, 'raise NotImplementedError("`rise`', '### BEGIN SOLUTION\n    raise NotImplementedError("`rise`'
    )
    with pytest.raises(CourseError, match="nbgrader refuses 01-derivatives: "):
        build(copy, [FIRST])


def test_select_takes_all_where_none_is_named():
    assert select([]) == ASSIGNMENTS
    assert select(["05-softmax"]) == (assignment("05-softmax"),)
