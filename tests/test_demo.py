"""The demonstration: a made class, nbgrader's cycle, a table."""

import csv

import pytest

from autograder import cli
from autograder.course import ASSIGNMENTS, find_course
from autograder.gradebook import Score
from autograder.report import grade_table

COURSE = find_course()


def test_a_class_of_two_from_nothing_to_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(COURSE.root)
    folder = tmp_path / "demo"
    assert cli.main(["demo", "--folder", str(folder), "--students", "2"]) == 0
    printed = capsys.readouterr().out
    (students,) = [line for line in printed.splitlines() if "have handed in" in line]
    handed_in = int(students.split()[-2])
    rows = [
        line.split() for line in printed.splitlines() if line.startswith("student") and "handed" not in line
    ]
    assert rows[0] == ["student", *(one.name.split("-")[0] for one in ASSIGNMENTS), "total"]
    assert [len(row) for row in rows] == [len(ASSIGNMENTS) + 2] * 3
    assert len(list(folder.glob("feedback/*/*/*.html"))) == handed_in
    with (folder / "grades.csv").open(encoding="utf-8") as file:
        assert sum(bool(row["timestamp"]) for row in csv.DictReader(file)) == handed_in
    assert cli.main(["demo", "--folder", str(folder), "--students", "0"]) == 2  # makes it anew, and refuses 0


@pytest.mark.parametrize("folder", [".", "keep"])
def test_a_folder_that_is_no_demonstration_s_is_left_alone(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nbgrader_config.py").touch()
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "thesis.txt").touch()
    assert cli.main(["demo", "--folder", folder]) == 2
    assert "name another with --folder" in capsys.readouterr().err
    assert (tmp_path / "keep" / "thesis.txt").exists()


def test_the_table_says_what_waits_and_what_is_missing():
    table = grade_table(
        {"a student": {"07-gradient-descent": Score(8.5, 10, 1), "01-derivatives": Score(10, 10, 0)}}
    )
    row = table.splitlines()[2]
    assert row.split() == ["a", "student", "10.00", *"-----", "8.50+", "-", "18.50"]
