"""What lies in one submission's folder is that submission's affair: the class is graded, and so is it."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from test_classroom import HERE, ONE, SMALL, answers, grade, hand_in, make_small, rows, url_of
from test_kills import before_task

from autograder import classroom as classrooms
from autograder import office, workers
from autograder.classroom import Order
from autograder.course import Course, CourseError
from autograder.gradebook import Book
from autograder.sample import Plan
from autograder.shelf import Shelf
from autograder.submission import FOLDER_LIMIT, LIMIT, read_folder
from autograder.workers import pool

posix = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX file system")


@pytest.fixture(scope="module")
def new(tmp_path_factory):
    return make_small(tmp_path_factory.mktemp("new") / "class")


@pytest.fixture
def small(new, tmp_path):
    """A class of four, not graded yet."""
    shutil.copytree(new.root, tmp_path / "class")
    return Course(tmp_path / "class")


def folder_for_notebook(folder):
    (folder / ONE.file).rename(folder / "mine.ipynb")
    (folder / ONE.file).mkdir()
    (folder / ONE.file / "x.txt").touch()


def folder_for_course_s_file(folder):
    (folder / "explore.py").unlink(missing_ok=True)
    (folder / "explore.py").mkdir()
    (folder / "explore.py" / "x.txt").touch()


def huge_file(folder):
    (folder / "data.bin").touch()
    os.truncate(folder / "data.bin", 2**40)


def many_files(folder):
    for number in range(classrooms.OWN_FILES + 10):
        (folder / f"{number}.txt").touch()


def not_utf8(folder):
    (folder / ONE.file).rename(folder / os.fsdecode(b"derivatives \xff.ipynb"))
    (folder / os.fsdecode(b"\xff.txt")).touch()


def timestamp(make):
    def place(folder):
        (folder / "timestamp.txt").unlink()
        make(folder / "timestamp.txt")

    return place


def endless(path):
    path.touch()
    os.truncate(path, 2**40)


def pipe(path):
    os.mkfifo(path)  # no system but POSIX has it


ODD = {
    "a folder in the notebook's place": (folder_for_notebook, f"{ONE.file}/x.txt"),
    "a folder in the place of a file of the course's": (folder_for_course_s_file, "explore.py/x.txt"),
    "a file of a terabyte": (huge_file, "data.bin"),
    "very many files": (many_files, ", ..."),
    "names that are no UTF-8": (not_utf8, None),
    "a timestamp that leads elsewhere": (timestamp(lambda path: path.symlink_to("/dev/zero")), None),
    "a timestamp that is a pipe": (timestamp(pipe), None),
    "a timestamp that is a folder": (timestamp(lambda path: path.mkdir()), None),
    "a timestamp of a terabyte": (timestamp(endless), None),
}


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are always UTF-8")
@pytest.mark.parametrize(("place", "left_out"), ODD.values(), ids=ODD)
def test_an_odd_folder_costs_nobody_anything(small, capsys, place, left_out):
    place(small.root / "submitted" / "student-0" / ONE.name)
    outcome = grade(small)
    assert (outcome.code, outcome.progress.graded) == (0, 4)
    with Book(url_of(small), "autograd-by-hand") as book:
        assert book.scores()["student-0"][ONE.name].score == 10
    if left_out:
        assert left_out in outcome.progress.left_out["01-derivatives", "student-0"]
        assert "not kept with it" in capsys.readouterr().out
    else:
        assert outcome.progress.left_out == {}


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are always UTF-8")
def test_a_student_s_folder_that_is_no_utf8_is_named(small, capsys):
    (small.root / "submitted" / "student-0").rename(os.fsdecode(bytes(small.root / "submitted") + b"/x\xff"))
    outcome = grade(small)
    assert (outcome.code, outcome.progress.graded) == (1, 3)
    assert "rename it" in capsys.readouterr().out


@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda path: path.write_text("{")], ids=["missing", "damaged"]
)
def test_without_the_released_notebook_it_says_what_to_do(small, damage):
    damage(small.released(ONE))
    with pytest.raises(CourseError, match="run 'autograder build' first"):
        grade(small)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("gradebook.db", "a URL is wanted"),
        ("nothing://x/y", "cannot be opened"),
        ("mysql://x/y", "cannot be opened"),
        ("sqlite:///README.md", "not a database"),
    ],
)
def test_a_gradebook_that_is_none_says_so(small, monkeypatch, url, why):
    monkeypatch.chdir(small.root)
    (small.root / "README.md").write_text("a text, and no database\n" * 100)
    with pytest.raises(CourseError, match=why):
        Book(url, "autograd-by-hand")


def test_feedback_without_the_gradebook_says_what_to_do(small):
    grade(small)
    (small.root / "gradebook.db").unlink()
    with pytest.raises(CourseError, match="run 'autograder grade 01-derivatives' first"):
        office.make_feedback(small, Order([ONE]), pool(1, int))


def test_a_notebook_one_folder_deeper_is_found(small):
    """As unpacking makes it; what the system that packed it put beside is no notebook."""
    folder = small.root / "submitted" / "student-0" / ONE.name
    for name in (ONE.name, "__MACOSX", ".ipynb_checkpoints"):
        (folder / name).mkdir()
    shutil.copyfile(folder / ONE.file, folder / "__MACOSX" / f"._{ONE.file}")
    shutil.copyfile(folder / ONE.file, folder / ".ipynb_checkpoints" / "derivatives-checkpoint.ipynb")
    (folder / ONE.file).rename(folder / ONE.name / ONE.file)
    outcome = grade(small)
    assert (outcome.code, outcome.progress.graded) == (0, 4)
    with Book(url_of(small), "autograd-by-hand") as book:
        assert book.scores()["student-0"][ONE.name].score == 10


@pytest.mark.parametrize(
    ("name", "why"),
    [("01-derivatives.zip", "unpack"), ("01_Derivatives", "rename"), ("01-derivatives (1)", "rename")],
)
def test_what_may_be_meant_as_a_submission_is_named(small, capsys, name, why):
    (small.root / "submitted" / "student-0" / ONE.name).rename(small.root / "submitted" / "student-0" / name)
    outcome = grade(small)
    assert (outcome.code, outcome.progress.graded, outcome.progress.to_grade) == (1, 3, 4)
    said = capsys.readouterr().out
    assert f"student-0, {ONE.name}: {name} is no folder" in said
    assert why in said


def test_a_student_s_folder_that_cannot_be_read_is_named(small, capsys, monkeypatch):
    listed = os.listdir

    def refused(path):
        if str(path).endswith("student-0"):
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "listdir", refused)
    outcome = grade(small)
    assert outcome.code == 1
    assert "the student's folder cannot be read: Permission denied" in capsys.readouterr().out


def test_without_submissions_it_says_where_they_belong(small):
    shutil.rmtree(small.root / "submitted")
    with pytest.raises(CourseError, match="submitted is missing"):
        grade(small)


def test_files_that_cannot_be_copied_are_left_out(small, monkeypatch):
    copy = shutil.copyfile

    def refused(source, target):
        if "notes" in str(source) and "student-1" in str(source):
            raise PermissionError(13, "Permission denied", str(source))
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", refused)
    outcome = grade(small)
    assert (outcome.code, outcome.progress.graded) == (0, 4)
    assert outcome.progress.left_out == {("01-derivatives", "student-1"): "all of them: Permission denied"}
    assert (small.root / "autograded/student-1" / ONE.name / ONE.file).is_file()


def test_of_many_large_notebooks_the_right_one_is_read(tmp_path):
    for name in ("a.ipynb", "b.ipynb", "c.ipynb", ONE.file, "e.ipynb"):
        (tmp_path / name).touch()
        os.truncate(tmp_path / name, LIMIT // 2 + 1)
    read = read_folder(tmp_path, ONE.file)
    assert ONE.file in read
    assert LIMIT < sum(map(len, read.values())) <= FOLDER_LIMIT


# What comes in while a class is graded


def test_what_is_handed_in_anew_meanwhile_is_graded_by_the_next_run(small, monkeypatch):
    monkeypatch.setattr(workers, "AHEAD", 1)
    folder = small.root / "submitted" / "student-1" / ONE.name

    def anew():
        shutil.rmtree(folder)
        hand_in(small.root, "student-1", ONE, Plan("right", answers(ONE)), "2025-10-09 10:00:00 UTC")

    assert grade(small, crew=before_task(2, anew)).progress.graded == 4
    before = rows(url_of(small))
    assert grade(small).progress.graded == 1
    assert rows(url_of(small)) != before
    assert grade(small).progress.graded == 0


def test_a_time_where_there_was_none_is_later(small):
    stamp = small.root / "submitted" / "student-1" / ONE.name / "timestamp.txt"
    text = stamp.read_text()
    stamp.unlink()
    grade(small)
    stamp.write_text(text)
    assert grade(small).progress.graded == 1


# Stopped


def test_a_regrading_goes_on_where_it_was_stopped(small, monkeypatch, capsys):
    grade(small)
    with Gradebook(url_of(small), "autograd-by-hand") as book:
        for number in range(4):  # as if all had been graded otherwise once
            place = ("derivative-square-test", ONE.notebook, ONE.name, f"student-{number}")
            book.find_grade(*place).auto_score = 0.5
        book.db.commit()
    order = Order([ONE], regrade=True, terms=SMALL.terms)
    monkeypatch.setattr(classrooms, "BATCH", 1)
    monkeypatch.setattr(workers, "AHEAD", 1)

    def stop():
        raise KeyboardInterrupt

    stopped = grade(small, order, before_task(3, stop))
    assert (stopped.code, stopped.progress.graded) == (130, 2)
    with Shelf(small.root, "autograded") as shelf:
        shelf.ledger.write_text(shelf.ledger.read_text() + '\n["student-2", "01-der')  # killed while it wrote
    capsys.readouterr()
    again = grade(small, order)
    assert (again.progress.graded, again.progress.skipped) == (2, 2)
    said = capsys.readouterr().out
    assert "2 were graded before (by the run that was stopped)" in said
    assert "4 of 4 scores changed" in said
    assert grade(small, order).progress.graded == 4  # that one is over


def test_no_page_is_made_of_what_was_stopped(small, capsys):
    grade(small)
    with Shelf(small.root, "autograded") as shelf:
        shelf.announce([(ONE.name, "student-2")])
    assert office.make_feedback(small, SMALL, HERE) == 1
    assert "student-2, 01-derivatives: its grading was stopped" in capsys.readouterr().out
    assert not (small.root / "feedback" / "student-2").exists()
    assert (small.root / "feedback" / "student-3").is_dir()


def test_a_damaged_journal_says_what_to_do(small):
    with Shelf(small.root, "autograded") as shelf:
        shelf._journal.touch()
        with pytest.raises(CourseError, match="is damaged: delete it, and grade again with --regrade"):
            shelf.unfinished()


# The course's secret


@pytest.mark.parametrize("left", ["", "cut off"])
def test_a_secret_that_could_be_guessed_is_refused(tmp_path, left):
    (tmp_path / ".course-secret").write_text(left)
    with pytest.raises(CourseError, match="is damaged"):
        Course(tmp_path).seed("student")


def test_a_secret_is_there_whole_or_not_at_all(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(type(tmp_path), "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError("full")))
        with pytest.raises(OSError, match="full"):
            Course(tmp_path).secret()
    assert list(tmp_path.iterdir()) == []
    secret = Course(tmp_path).secret()
    assert len(secret) == 64
    assert Course(tmp_path).secret() == secret
    if os.name == "posix":
        assert (tmp_path / ".course-secret").stat().st_mode & 0o777 == 0o600


def test_of_two_who_make_the_secret_at_once_both_have_the_first(tmp_path, monkeypatch):
    link = os.link

    def late(source, target):
        if not target.exists():
            target.write_text("a" * 64)  # the other one was faster
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    assert Course(tmp_path).secret() == "a" * 64
