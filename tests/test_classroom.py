"""A class graded by `autograder grade`, against nbgrader's own commands and across interruptions."""

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from concurrent.futures import Executor, Future

import pytest
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from autograder import classroom as classrooms
from autograder import cli, office
from autograder import gradebook as gradebooks
from autograder.classroom import Order
from autograder.course import Course, CourseError, assignment, find_course
from autograder.damage import DAMAGES
from autograder.exercises import declared
from autograder.feedback import ready as pages_ready
from autograder.grade import Terms
from autograder.gradebook import Book
from autograder.marking import carry_out, ready
from autograder.nbgrader_plugin import converter_of, generate_release
from autograder.sample import Plan, Release
from autograder.shelf import Shelf
from autograder.workers import Crew, pool

COURSE = find_course()
ONE, WRITTEN = assignment("01-derivatives"), assignment("07-gradient-descent")
SECONDS = 4.0  # enough for every answer here on a busy machine, and short for the endless one
TERMS = Terms(seconds=SECONDS, confined=False)
ORDER = Order([ONE, WRITTEN], terms=TERMS)
QUICK = [name for name in DAMAGES if "loop" not in name and name != "exit"]
SLOW = ["endless loop"]


def answers(one, wrong=()):
    """Right answers, but the first mistakes of the exercises in `wrong`; a text for the written one."""
    given = {
        exercise.id: f"mistake {exercise.mistakes[0].id}" if exercise.id in wrong else "reference"
        for exercise in declared(one).exercises
    }
    return given | {written.id: "text 0" for written in declared(one).written}


def hand_in(root, student, one, plan, time_in="2025-10-08 10:00:00.000000 UTC"):
    folder = root / "submitted" / student / one.name
    folder.mkdir(parents=True)
    files = Release.read(COURSE, one).submission(plan)
    for name, data in {**files, "timestamp.txt": time_in.encode(), "notes/own.txt": b"mine"}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def make(root):
    """A course folder with every quick damage, wrong answers, late ones and odd names."""
    text = (COURSE.root / "nbgrader_config.py").read_text(encoding="utf-8")
    late = f"\nc.LateSubmissionPlugin.penalty_method = 'zero'\nc.JudgedExecute.seconds = {SECONDS}\n"
    late += "c.JudgedExecute.isolation = 'none'\n"
    root.mkdir()
    (root / "nbgrader_config.py").write_text(text + late, encoding="utf-8")
    for one in (ONE, WRITTEN):
        shutil.copytree(COURSE.source / one.name, root / "source" / one.name)
    generate_release(root / "nbgrader_config.py", root, [ONE, WRITTEN])
    for name in [*QUICK, *SLOW]:
        hand_in(root, name.replace(" ", "-"), ONE, Plan("damaged", answers(ONE), name, "derivative-square"))
    hand_in(root, "with.dot and space", ONE, Plan("right", answers(ONE)))
    hand_in(root, "late", ONE, Plan("right", answers(ONE)), "2026-01-01 10:00:00.000000 UTC")
    hand_in(root, "late", WRITTEN, Plan("right", answers(WRITTEN)), "2026-01-01 10:00:00.000000 UTC")
    hand_in(root, "wrong", WRITTEN, Plan("wrong", answers(WRITTEN, ["descent-loss", "descent-noisy"])))
    hand_in(root, "untouched", WRITTEN, Plan("untouched"))
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "autograd-by-hand") as book:
        book.update_or_create_assignment(ONE.name, duedate="2025-12-31 12:00:00 UTC")
    return Course(root)


def rows(url):
    """The gradebook's tables as sets of rows, without the ids that are drawn anew each time."""
    from nbgrader import api

    with Gradebook(url, "autograd-by-hand") as book:
        run = lambda *columns: sorted(map(tuple, book.db.execute(select(*columns))), key=repr)  # noqa: E731
        submitted = api.SubmittedAssignment
        place = (api.Assignment.name, submitted.student_id)
        joined = (
            select(*place, api.SubmittedNotebook.id.label("notebook"), submitted.timestamp)
            .add_columns(api.SubmittedNotebook.late_submission_penalty.label("late"))
            .join(submitted, submitted.assignment_id == api.Assignment.id)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.assignment_id == submitted.id)
            .subquery()
        )
        found = {
            "students": run(api.Student.id),
            "submissions": run(*joined.c[:2], joined.c[3], joined.c.late),
        }
        for table, columns in (
            (api.Grade, ("auto_score", "manual_score", "extra_credit", "needs_manual_grade")),
            (api.Comment, ("auto_comment", "manual_comment")),
        ):
            query = (
                select(*joined.c[:2], api.BaseCell.name, *(getattr(table, one) for one in columns))
                .join(table, table.notebook_id == joined.c.notebook)
                .join(api.BaseCell, api.BaseCell.id == table.cell_id)
            )
            found[table.__tablename__] = sorted(map(tuple, book.db.execute(query)), key=repr)
        return found


def url_of(course):
    return f"sqlite:///{course.root / 'gradebook.db'}"


def files_of(folder):
    """Every file below a folder: its bytes and its mode, by path."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Here(Executor):
    """Carries out tasks in this process, when they are submitted."""

    def submit(self, act, task):
        future = Future()
        try:
            future.set_result(act(task))
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        pass


HERE = Crew(Here, 1)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class, graded by a pool of two, with its pages."""
    course = make(tmp_path_factory.mktemp("class") / "ours")
    outcome = office.grade_class(course, ORDER, pool(2, ready))
    assert outcome.code == 0
    assert office.make_feedback(course, ORDER, pool(2, pages_ready)) == 0
    return course, outcome.progress


@pytest.fixture(scope="module")
def by_nbgrader(tmp_path_factory, graded):
    """The same class by nbgrader's own converters, with the course's configuration."""
    root = tmp_path_factory.mktemp("nbgrader") / "theirs"
    shutil.copytree(graded[0].root, root, ignore=shutil.ignore_patterns("autograded", "feedback", ".grading"))
    (root / "gradebook.db").unlink()
    shutil.rmtree(root / "release")
    generate_release(root / "nbgrader_config.py", root, [ONE, WRITTEN])
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}", "autograd-by-hand") as book:
        book.update_or_create_assignment(ONE.name, duedate="2025-12-31 12:00:00 UTC")
    for kind in (Autograde, GenerateFeedback):
        for one in (ONE, WRITTEN):
            converter, complaints = converter_of(kind, root, root / "nbgrader_config.py", one)
            converter.start()
            assert complaints == []
    return Course(root)


def test_the_gradebook_is_nbgrader_s_row_by_row(graded, by_nbgrader):
    ours, theirs = rows(url_of(graded[0])), rows(url_of(by_nbgrader))
    for table, found in ours.items():
        assert found == theirs[table], table
    assert any(row[3] for row in ours["submissions"])  # a late penalty is among them


@pytest.mark.parametrize("step", ["autograded", "feedback"])
def test_the_files_are_nbgrader_s_byte_by_byte(graded, by_nbgrader, step):
    ours, theirs = files_of(graded[0].root / step), files_of(by_nbgrader.root / step)
    assert ours.keys() == theirs.keys()
    for name, found in ours.items():
        assert found == theirs[name], name


def test_progress_counts_and_says_why_a_file_got_nothing(graded):
    _, progress = graded
    everything = [name for name, one in DAMAGES.items() if one.loses == "everything"]
    assert progress.graded == progress.to_grade == len(QUICK) + len(SLOW) + 5
    assert {student for _, student in progress.unreadable} == {name.replace(" ", "-") for name in everything}
    assert progress.failed == {}


@pytest.fixture
def small(tmp_path):
    """A class of four, not graded yet."""
    course = make_small(tmp_path / "small")
    return course


def make_small(root):
    root.mkdir()
    shutil.copyfile(COURSE.root / "nbgrader_config.py", root / "nbgrader_config.py")
    shutil.copytree(COURSE.source / ONE.name, root / "source" / ONE.name)
    generate_release(root / "nbgrader_config.py", root, [ONE])
    for number, wrong in enumerate([(), ["derivative-square"], ["derivative-step"], ()]):
        hand_in(root, f"student-{number}", ONE, Plan("some", answers(ONE, wrong)))
    return Course(root)


SMALL = Order([ONE], terms=TERMS)


def grade(course, order=SMALL, crew=HERE):
    return office.grade_class(course, order, crew)


def test_what_is_graded_is_not_graded_again_but_what_came_anew_is(small):
    assert grade(small).progress.graded == 4
    again = grade(small).progress
    assert (again.graded, again.skipped) == (0, 4)
    (small.root / "submitted/student-1/01-derivatives/timestamp.txt").write_text("2025-10-09 10:00:00 UTC")
    assert grade(small).progress.graded == 1
    assert grade(small, Order([ONE], "student-*", True, TERMS)).progress.graded == 4
    assert grade(small, Order([ONE], "*-3", True, TERMS)).progress.graded == 1
    for nobody in ("student-[23]", "student-?", "somebody"):
        with pytest.raises(CourseError, match="nobody called"):
            grade(small, Order([ONE], nobody, True, TERMS))


def test_regrading_says_whose_score_changed_and_keeps_what_a_person_entered(small, capsys):
    grade(small)
    with Gradebook(url_of(small), "autograd-by-hand") as book:
        place = ("derivative-square-test", ONE.notebook, ONE.name)
        marked = book.find_grade(*place, "student-1")
        marked.manual_score, marked.extra_credit = 1.0, 0.5
        book.find_comment("derivative-square", *place[1:], "student-1").manual_comment = "Nearly."
        book.find_grade(*place, "student-2").auto_score = 0.0  # as if it had been graded otherwise once
        book.db.commit()
    capsys.readouterr()
    outcome = grade(small, Order([ONE], regrade=True, terms=TERMS))
    assert [one.student for one in outcome.progress.changes if one.before != one.after] == ["student-2"]
    assert "1 of 4 scores changed\n  student-2, 01-derivatives:" in capsys.readouterr().out
    with Gradebook(url_of(small), "autograd-by-hand") as book:
        kept = book.find_grade(*place, "student-1")
        assert (kept.manual_score, kept.extra_credit, kept.needs_manual_grade) == (1.0, 0.5, True)
        assert book.find_comment("derivative-square", *place[1:], "student-1").comment == "Nearly."


def test_a_folder_without_a_notebook_has_no_points_and_its_reason(small):
    (small.root / "submitted" / "nobody" / ONE.name).mkdir(parents=True)
    progress = grade(small).progress
    assert "no notebook among the files" in progress.unreadable[ONE.name, "nobody"]
    with Book(url_of(small), "autograd-by-hand") as book:
        assert book.scores()["nobody"][ONE.name].score == 0


def test_an_assignment_that_the_gradebook_does_not_know_is_entered(small, capsys, monkeypatch):
    """As in a fresh clone, which has release/ already, so that nbgrader has nothing to generate."""
    monkeypatch.chdir(small.root)
    (small.root / "gradebook.db").unlink()
    hand_in(small.root, "student-0", WRITTEN, Plan("right", answers(WRITTEN)))
    for step in ("source", "release"):
        shutil.copytree(
            COURSE.root / step / WRITTEN.name, small.root / step / WRITTEN.name, dirs_exist_ok=True
        )
    before = {path: path.read_bytes() for path in (small.root / "release").rglob("*.ipynb")}
    assert cli.main(["grade", "--workers", "1", "--isolation", "none"]) == 0
    assert capsys.readouterr().err.count("entered into the gradebook") == 2
    assert {path: path.read_bytes() for path in (small.root / "release").rglob("*.ipynb")} == before
    with Book(url_of(small), "autograd-by-hand") as book:
        assert book.scores()["student-0"][WRITTEN.name].max_score == WRITTEN.points


def test_an_assignment_without_a_source_says_what_to_do(small, capsys, monkeypatch):
    monkeypatch.chdir(small.root)
    hand_in(small.root, "student-0", WRITTEN, Plan("right", answers(WRITTEN)))
    shutil.rmtree(small.root / "source" / WRITTEN.name, ignore_errors=True)
    assert cli.main(["grade", WRITTEN.name, "--workers", "1", "--isolation", "none"]) == 2
    assert "run 'autograder build' first" in capsys.readouterr().err


def failing(times, error):
    """A function that raises for the first `times` calls, then calls what it stands for."""

    def wrap(act):
        left = [times]

        def call(*args, **fields):
            if left[0]:
                left[0] -= 1
                raise error
            return act(*args, **fields)

        return call

    return wrap


LOCKED = OperationalError("insert", {}, Exception("database is locked"))


def test_a_database_that_is_away_for_a_while_is_asked_again(small, monkeypatch):
    monkeypatch.setattr(gradebooks, "WAIT", 0.0)
    monkeypatch.setattr(Book, "_record", failing(3, LOCKED)(Book._record))
    assert grade(small).code == 0


@pytest.mark.parametrize(
    ("place", "name", "error", "told"),
    [
        (Book, "record", LOCKED, "the gradebook does not answer: database is locked"),
        (Shelf, "stage", OSError(errno.ENOSPC, "No space left on device", "here"), "No space left on device"),
        (
            Shelf,
            "announce",
            OSError(errno.ENOSPC, "No space left on device", "here"),
            "No space left on device",
        ),
        (Shelf, "settle", OSError(errno.EIO, "Input/output error", "here"), "Input/output error"),
    ],
)
def test_what_is_lost_stops_it_and_the_same_command_goes_on(
    small, tmp_path, monkeypatch, capsys, place, name, error, told
):
    undisturbed = make_small(tmp_path / "undisturbed")
    small.secret()
    shutil.copyfile(small.root / ".course-secret", undisturbed.root / ".course-secret")
    grade(undisturbed)
    monkeypatch.setattr(classrooms, "BATCH", 1)
    with monkeypatch.context() as patch:
        patch.setattr(place, name, failing(1, error)(getattr(place, name)))
        assert grade(small).code == 3
    said = capsys.readouterr().err
    assert told in said
    assert "run the same command again" in said
    assert grade(small).code == 0
    assert rows(url_of(small)) == rows(url_of(undisturbed))
    assert files_of(small.root / "autograded") == files_of(undisturbed.root / "autograded")


KILLS = 200


def known(results):
    """Stands for the work: what each student's result will be is known already."""
    return lambda task: results[task.student]


def test_killed_at_any_moment_it_goes_on_and_ends_as_if_nothing_had_been(tmp_path):
    """The writer, forked from this process, is killed at moments drawn from its own running time."""
    course = make_small(tmp_path / "class")
    for number in range(4, 8):
        hand_in(
            course.root,
            f"student-{number}",
            ONE,
            Plan("some", answers(ONE, ["derivative-rise"][: number % 2])),
        )
    results = {}

    def keep(task):
        results[task.student] = carry_out(task)
        return results[task.student]

    original = classrooms.carry_out
    classrooms.carry_out = keep
    try:
        grade(course)
    finally:
        classrooms.carry_out = original
    expected = rows(url_of(course)), files_of(course.root / "autograded")

    def forget():
        shutil.rmtree(course.root / "autograded", ignore_errors=True)
        (course.root / "gradebook.db").unlink(missing_ok=True)
        for left in course.root.glob("gradebook.db-*"):
            left.unlink()
        shutil.copyfile(tmp_path / "empty.db", course.root / "gradebook.db")

    shutil.rmtree(course.root / "release")
    (course.root / "gradebook.db").unlink()
    generate_release(course.root / "nbgrader_config.py", course.root, [ONE])
    shutil.copyfile(course.root / "gradebook.db", tmp_path / "empty.db")
    draw = random.Random("kills")
    forget()
    took, _ = _writer(course, results)
    kills = 0
    while kills < KILLS:
        forget()
        for _ in range(8):  # in one class, one kill after the other
            _, died = _writer(course, results, draw.uniform(0.0, took))
            kills += died
        _, died = _writer(course, results)
        assert not died
        assert rows(url_of(course)) == expected[0], kills
        assert files_of(course.root / "autograded") == expected[1], kills


def _writer(course, results, kill_after=None):
    """Grades in a forked process with results that are known; how long it took, and whether it was killed."""
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            classrooms.BATCH = 1
            classrooms.carry_out = known(results)
            said = os.open(course.root / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            sys.stdout = sys.stderr = os.fdopen(2, "w", buffering=1)
            code = office.grade_class(course, SMALL, HERE).code
        except BaseException:
            traceback.print_exc()
            code = 99
        os._exit(code)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return time.monotonic() - begun, True
    assert os.waitstatus_to_exitcode(status) == 0, (course.root / "said.txt").read_text()
    return time.monotonic() - begun, False


def test_ctrl_c_ends_it_and_the_rerun_completes(small):
    command = [sys.executable, "-m", "autograder", "grade", "--workers", "2", "--isolation", "none"]
    for number in range(4, 40):
        shutil.copytree(small.root / "submitted/student-0", small.root / f"submitted/student-{number}")
    options = {"cwd": small.root, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, **options) as process:
        for line in process.stderr:
            if " graded, " in line:
                os.killpg(process.pid, signal.SIGINT)
                break
        said = process.stderr.read()
    assert process.returncode == 130, said
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=True, **options)
    summary = json.loads(done.stdout)
    assert summary["graded"] + summary["skipped"] == 40
    assert summary["skipped"] > 0


@pytest.mark.parametrize("command", ["grade", "feedback", "build", "doctor"])
def test_any_command_can_be_stopped_at_any_time(monkeypatch, capsys, command):
    """While it still loads what it needs, too: a line, and no traceback."""

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, f"_{command}", interrupted)
    assert cli.main([command]) == office.INTERRUPTED
    assert capsys.readouterr().err == "autograder: stopped\n"
