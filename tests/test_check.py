"""`autograder check`: the same judging for a learner alone."""

import json

import pytest

from autograder import cli
from autograder.check import check
from autograder.course import assignment, find_course
from autograder.damage import find_cell, set_source

COURSE = find_course()
FIRST = assignment("01-derivatives")
KEYS = {"notebook", "assignment", "score", "max_score", "exercises", "notes"}


@pytest.fixture
def notebook(tmp_path):
    """Writes a learner's notebook with the given answers and returns its path."""

    def write(name="mine.ipynb", **answers):
        data = json.loads((COURSE.source / FIRST.name / FIRST.file).read_bytes())
        released = json.loads((COURSE.release / FIRST.name / FIRST.file).read_bytes())
        for cell in released["cells"]:
            name_of_cell = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if name_of_cell and cell["metadata"]["nbgrader"]["solution"]:
                cell["source"] = find_cell(data, name_of_cell)["source"]
        for exercise, code in answers.items():
            set_source(find_cell(released, exercise.replace("_", "-")), code)
        path = tmp_path / name
        path.write_text(json.dumps(released), encoding="utf-8")
        return path

    return write


@pytest.fixture(autouse=True)
def in_the_course(monkeypatch):
    monkeypatch.chdir(COURSE.root)


def test_full_marks_exit_with_0(notebook, capsys):
    assert cli.main(["check", str(notebook())]) == 0
    printed = capsys.readouterr().out
    assert "10 of 10 points" in printed
    assert "note" not in printed


def test_a_mistake_exits_with_1_and_is_explained(notebook, capsys):
    path = notebook(derivative_square="def d_square(x):\n    return x ** 2\n")
    assert cli.main(["check", str(path), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert set(result) == KEYS
    assert (result["score"], result["max_score"], result["assignment"]) == (9, 10, "01-derivatives")
    square = next(one for one in result["exercises"] if one["id"] == "derivative-square")
    assert set(square) == {"id", "points", "score", "message", "mistake"}
    assert square["mistake"] == "the-square"
    assert "slope" in square["message"]


@pytest.mark.parametrize("data", [b"", b"<html>", b'{"cells": ['])
def test_a_file_that_cannot_be_read_exits_with_2_and_says_why(tmp_path, data, capsys):
    path = tmp_path / "derivatives.ipynb"
    path.write_bytes(data)
    assert cli.main(["check", str(path)]) == 2
    assert "note: The file" in capsys.readouterr().out


def test_several_files_give_the_worst_exit_code_and_an_object_each(notebook, tmp_path, capsys):
    empty = tmp_path / "derivatives.ipynb"
    empty.touch()
    assert cli.main(["check", str(notebook()), str(empty), "--json"]) == 2
    assert [json.loads(line)["score"] for line in capsys.readouterr().out.splitlines()] == [10, 0]


def test_a_bad_call_ends_with_one_line(tmp_path, capsys):
    (tmp_path / "holiday.ipynb").write_text("{}")
    for name, complaint in (
        ("nowhere.ipynb", "cannot be read"),
        ("holiday.ipynb", "belongs to no assignment"),
    ):
        assert cli.main(["check", str(tmp_path / name)]) == 2
        error = capsys.readouterr().err
        assert complaint in error
        assert error.count("\n") == 1


def test_the_assignment_is_told_by_the_ids_not_by_the_name(notebook):
    assert check(COURSE, notebook("softmax.ipynb")).assignment == FIRST
