"""What a class stands on is taken away: its processes, its disk, its database, its cluster.

Whatever happens, the same command goes on, and ends with the rows of a class that nothing happened to.
"""

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from test_classroom import HERE, ONE, SMALL, TERMS, Here, files_of, make_small, rows, url_of

from autograder import classroom as classrooms
from autograder import gradebook as gradebooks
from autograder import office, workers
from autograder.course import Course, CourseError
from autograder.workers import Crew, cluster

ROOT = Path(__file__).parents[1]
GRADE = [sys.executable, "-m", "autograder", "grade", "--isolation", "none"]
NUMBERS = count()
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs what Linux alone has")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A class of four that nothing happens to."""
    course = make_small(tmp_path_factory.mktemp("undisturbed") / "class")
    course.secret()
    shutil.copytree(course.root, course.root.parent / "new")
    assert office.grade_class(course, SMALL, HERE).code == 0
    return course


@pytest.fixture
def small(undisturbed, tmp_path):
    """The same class, with the same secret, not graded yet."""
    shutil.copytree(undisturbed.root.parent / "new", tmp_path / "class")
    return Course(tmp_path / "class")


def is_as(course, undisturbed, url=None):
    assert rows(url or url_of(course)) == rows(url_of(undisturbed))
    assert files_of(course.root / "autograded") == files_of(undisturbed.root / "autograded")


def before_task(number, act):
    """A crew that calls `act` before it takes its task of that number."""

    class Disturbed(Here):
        taken = 0

        def submit(self, work, task):
            self.taken += 1
            if self.taken == number:
                act()
            return super().submit(work, task)

    return Crew(Disturbed, 1)


@pytest.fixture
def one_by_one(monkeypatch):
    """Every result is put down before the next task, and what does not answer is asked again soon."""
    monkeypatch.setattr(workers, "AHEAD", 1)
    monkeypatch.setattr(classrooms, "BATCH", 1)
    monkeypatch.setattr(gradebooks, "WAIT", 0.05)


# The command and its processes


@linux
def test_the_command_killed_at_random_moments():
    """A few of the kills of benchmarks/kills.py, which tells what else it kills."""
    command = [sys.executable, ROOT / "benchmarks" / "kills.py", "--kills", "3", "--students", "6", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    found = json.loads(done.stdout)
    assert (found["differing"], found["left"], found["failed"]) == ([], [], [])
    assert sum(found["kills"].values()) == 3
    assert done.returncode == 0


# The disk

FULL = """
set -e
mount -t tmpfs -o size=16m tmpfs "$1"
cp -r "$2/." "$1"
cd "$1"
dd if=/dev/zero of=filler bs=4k status=none || true
truncate -s -{kilobytes}K filler
shift 2
set +e
"$@"; full=$?
rm filler
"$@"; again=$?
cp -r . "$RESULT"
echo "$full $again"
"""


@linux
@pytest.mark.parametrize("kilobytes", [0, 64])
def test_a_full_disk_stops_it_with_a_clear_line(small, undisturbed, tmp_path, kilobytes):
    """On a file system in memory, that only this command sees."""
    apart = ["unshare", "--mount"]
    if os.geteuid():  # who may not mount may in a user namespace
        apart += ["--map-current-user", "--keep-caps"]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], check=False).returncode:
        pytest.skip("this machine gives no mount namespaces")
    full, result = tmp_path / "full", tmp_path / "result"
    full.mkdir()
    script = [*apart, "sh", "-c", FULL.format(kilobytes=kilobytes), "sh", full, small.root]
    command = [*script, *GRADE, "--workers", "1"]
    # where temporary files go is not full: what is tried here is the disk that the course lies on
    environment = {**os.environ, "RESULT": str(result), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    codes = done.stdout.splitlines()[-1]
    assert codes == "3 0", done.stdout + done.stderr
    assert "No space left on device" in done.stderr or "database or disk is full" in done.stderr
    assert "run the same command again" in done.stderr
    assert "Traceback" not in done.stderr
    is_as(Course(result), undisturbed)


# The database


def test_a_gradebook_that_another_program_holds_is_waited_for(small, undisturbed, one_by_one):
    held = sqlite3.connect(small.root / "gradebook.db", check_same_thread=False)
    released = threading.Timer(1.0, held.rollback)

    def hold():
        held.execute("begin exclusive")
        released.start()

    assert office.grade_class(small, SMALL, before_task(3, hold)).code == 0
    released.join()
    held.close()
    is_as(small, undisturbed)


class PostgreSQL:
    """A database server of the tests' own, on a socket and a port of its own, run by an ordinary user."""

    def __init__(self, programs, folder):
        self._programs, self._data, self._folder = programs, folder / "data", folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._user = {}
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(folder, "nobody")
            self._user = {"user": "nobody", "extra_groups": []}
        self._run("initdb", "-A", "trust", "-U", "grader", "-E", "UTF8", "--no-sync")

    def _run(self, program, *options):
        command = [self._programs / program, "-D", self._data, *options]
        with open(self._folder / "said.txt", "ab") as said:  # a pipe would stay open as long as the server
            done = subprocess.run(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                check=False,
                **self._user,
            )
        assert done.returncode == 0, (self._folder / "said.txt").read_text()

    def start(self):
        where = f"-p {self.port} -h 127.0.0.1 -k {self._folder} -F"
        self._run("pg_ctl", "start", "-w", "-t", "120", "-o", where)

    def stop(self, how="immediate"):
        self._run("pg_ctl", "stop", "-w", "-t", "120", "-m", how)

    def restart(self):
        self.stop()
        self.start()

    def url(self, name):
        return f"postgresql+psycopg://grader@127.0.0.1:{self.port}/{name}"

    def new(self, name, like="template1"):
        """The URL of a new database, a copy of another."""
        import psycopg

        place = {"host": "127.0.0.1", "port": self.port, "user": "grader", "dbname": "postgres"}
        with psycopg.connect(**place, autocommit=True) as server:
            server.execute(f"create database {name} template {like}")
        return self.url(name)


def programs():
    """Where PostgreSQL's programs are, None where they are not installed."""
    found = shutil.which("initdb")
    there = [Path(found).resolve().parent] if found else []
    there += sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((one for one in there if (one / "initdb").exists() and (one / "pg_ctl").exists()), None)


@pytest.fixture(scope="module")
def postgresql():
    pytest.importorskip("psycopg")
    if (folder := programs()) is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed")
        pytest.skip("PostgreSQL is not installed")
    with tempfile.TemporaryDirectory(prefix="pg-") as home:  # a socket's path has to be short
        server = PostgreSQL(folder, Path(home))
        server.start()
        yield server
        server.stop()


@pytest.fixture(scope="module")
def assigned(undisturbed, postgresql, tmp_path_factory):
    """The name of a database in which nbgrader's own command has put the assignment, and no more."""
    course = Course(tmp_path_factory.mktemp("assigned") / "class")
    shutil.copytree(undisturbed.root.parent / "new", course.root)
    use(course, postgresql.new("assigned"))
    nbgrader(course, "generate_assignment", ONE.name, "--force")
    return "assigned"


@pytest.fixture
def in_postgresql(small, postgresql, assigned):
    """The URL of the class's gradebook, a database of its own."""
    url = postgresql.new(f"book_{next(NUMBERS)}", assigned)
    use(small, url)
    return url


def use(course, url):
    """Has a course keep its gradebook at `url`."""
    with (course.root / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f"\nc.CourseDirectory.db_url = {url!r}\n")
    (course.root / "gradebook.db").unlink()


def nbgrader(course, *arguments):
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=course.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_in_postgresql_the_rows_are_the_same(small, undisturbed, in_postgresql):
    assert office.grade_class(small, SMALL, HERE).code == 0
    assert not (small.root / "gradebook.db").exists()
    is_as(small, undisturbed, in_postgresql)
    regraded = office.grade_class(small, classrooms.Order([ONE], regrade=True, terms=TERMS), HERE)
    assert (regraded.code, regraded.progress.graded) == (0, 4)
    is_as(small, undisturbed, in_postgresql)
    nbgrader(small, "export", "--to", "grades.csv")
    lines = (small.root / "grades.csv").read_text().splitlines()
    assert len(lines) == 5  # a heading, and a line a student
    with Gradebook(in_postgresql, "autograd-by-hand") as book:
        assert {one.student.id for one in book.assignment_submissions(ONE.name)} == {
            f"student-{number}" for number in range(4)
        }


def test_a_database_server_that_restarts_costs_nothing(
    small, undisturbed, postgresql, in_postgresql, one_by_one
):
    assert office.grade_class(small, SMALL, before_task(3, postgresql.restart)).code == 0
    is_as(small, undisturbed, in_postgresql)


def test_a_database_server_that_is_lost_stops_it_and_the_rerun_completes(
    small, undisturbed, postgresql, in_postgresql, one_by_one, capsys
):
    stopped = office.grade_class(small, SMALL, before_task(3, postgresql.stop))
    said = capsys.readouterr().err
    with pytest.raises(CourseError, match="the gradebook cannot be opened"):
        office.grade_class(small, SMALL, HERE)
    postgresql.start()
    assert (stopped.code, stopped.progress.graded) == (3, 2)
    assert "the gradebook does not answer" in said
    assert "run the same command again" in said
    again = office.grade_class(small, SMALL, HERE)
    assert (again.code, again.progress.graded, again.progress.skipped) == (0, 2, 2)
    is_as(small, undisturbed, in_postgresql)


# The cluster


@contextmanager
def dask(role, *arguments):
    """A scheduler or worker as Dask's own command starts it, and the address that it says it has."""
    command = [sys.executable, "-m", f"distributed.cli.dask_{role}", *arguments, "--no-dashboard"]
    command += ["--port", "0"] if role == "scheduler" else ["--nthreads", "1", "--no-nanny"]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}",
        "DASK_LOGGING__DISTRIBUTED": "info",
    }
    with subprocess.Popen(
        [*command, "--host", "127.0.0.1"], stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()
            process.stderr.close()


def address_of(scheduler):
    """What a scheduler says that its address is; what it says later is read and dropped."""
    for line in scheduler.stderr:
        if "Scheduler at:" in line:
            threading.Thread(target=scheduler.stderr.read, daemon=True).start()
            return line.split()[-1]
    raise AssertionError("the scheduler has ended")


@pytest.fixture
def on_a_cluster():
    """A scheduler, its two workers of one thread, and the scheduler's address."""
    distributed = pytest.importorskip("distributed")
    with ExitStack() as stack:
        scheduler = stack.enter_context(dask("scheduler"))
        address = address_of(scheduler)
        hired = [stack.enter_context(dask("worker", address)) for _ in range(2)]
        for worker in hired:
            threading.Thread(target=worker.stderr.read, daemon=True).start()
        with distributed.Client(address) as client:
            client.wait_for_workers(2, timeout=120)
        yield scheduler, hired, address


def after_first(monkeypatch, act):
    """Calls `act` when the first results have been put down."""
    done = []
    tell = office._Teller.tell

    def told(self, progress):
        if not done:
            done.append(act())
        tell(self, progress)

    monkeypatch.setattr(office._Teller, "tell", told)
    return done


def test_a_cluster_gives_the_same_rows_also_when_it_loses_a_worker(
    small, undisturbed, on_a_cluster, one_by_one, monkeypatch
):
    _, hired, address = on_a_cluster
    killed = after_first(monkeypatch, hired[0].kill)
    assert office.grade_class(small, SMALL, cluster(address)).code == 0
    assert killed
    is_as(small, undisturbed)


def test_a_cluster_that_loses_its_scheduler_stops_it_and_the_rerun_completes(
    small, undisturbed, on_a_cluster, one_by_one, monkeypatch, capsys
):
    scheduler, _, address = on_a_cluster
    with monkeypatch.context() as patch:
        killed = after_first(patch, scheduler.kill)
        assert office.grade_class(small, SMALL, cluster(address)).code == 3
    assert killed
    said = capsys.readouterr().err
    assert "the cluster's scheduler is gone" in said
    assert "run the same command again" in said
    with pytest.raises(CourseError, match="no Dask scheduler answers"):
        cluster(address)
    assert office.grade_class(small, SMALL, HERE).code == 0
    is_as(small, undisturbed)
