"""The demonstration: a made class, nbgrader's cycle, a table."""

import csv
import shutil

import pytest

from autograder import cli
from autograder import demo as demonstration
from autograder.course import ASSIGNMENTS
from autograder.gradebook import Score
from autograder.report import grade_table


@pytest.mark.usefixtures("in_the_course")
def test_a_class_of_two_from_nothing_to_the_table(tmp_path, capsys):
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


@pytest.mark.usefixtures("in_the_course")
def test_a_time_that_cannot_be_read_costs_nobody_a_grade(tmp_path, monkeypatch, capsys):
    made = demonstration.make_class

    def with_a_bad_date(course, folder, students, seed):
        plans = made(course, folder, students, seed)
        for one in ASSIGNMENTS[1:]:  # one assignment is enough
            for submission in folder.glob(f"*/{one.name}"):
                shutil.rmtree(submission)
        victim, *_ = sorted(folder.glob("*/*/"))
        (victim / "timestamp.txt").write_text("yesterday evening", encoding="utf-8")
        return plans

    monkeypatch.setattr(demonstration, "make_class", with_a_bad_date)
    assert cli.main(["demo", "--folder", str(tmp_path / "demo"), "--students", "3"]) == 0
    printed = capsys.readouterr().out
    assert "its timestamp.txt says 'yesterday evening'" in printed
    assert len(list(tmp_path.glob("demo/feedback/*/*/*.html"))) == 3


def test_the_table_says_what_waits_what_is_missing_and_what_failed():
    table = grade_table(
        {
            "a student": {"07-gradient-descent": Score(8.5, 10, 1), "01-derivatives": Score(10, 10, 0)},
            "another": {"08-learning-rate": Score(3, 8, 1)},
        },
        {"another": {"08-learning-rate": "no reason"}, "third": {"01-derivatives": "a reason"}},
    )
    _, _, first, second, third, *below = table.splitlines()
    assert first.split() == ["a", "student", "10.00", *"-----", "8.50+", "-", "18.50"]
    assert second.split() == ["another", *"-------", "failed", "0.00"]
    assert third.split() == ["third", "failed", *"-------", "0.00"]
    assert below[1:] == [
        "+  a written answer waits to be marked: 1 in all",
        "-  nothing handed in",
        "failed  another, 08-learning-rate: no reason",
        "failed  third, 01-derivatives: a reason",
    ]
