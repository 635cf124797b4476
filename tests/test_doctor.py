"""The doctor says what holds, by trying it: on this machine, and where the system refuses something."""

import json
import os
import subprocess
import sys

import pytest

from autograder import cli, doctor
from autograder.child.confine import LAYERS, missing
from autograder.child.near import Child, Lost

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a layer is refused by seccomp")

# Runs a program of ours where the system refuses some calls, as a container's runtime may.
REFUSING = """
import errno, sys
from autograder.child import syscalls
made = syscalls._Filter(syscalls._library(), syscalls.ALLOW)
for name in sys.argv[1].split():
    made.rule(syscalls._denied(errno.EPERM), name)
assert syscalls.put_up(made.program())
"""
NO_NAMESPACES = "unshare mount"
NO_LANDLOCK = "landlock_create_ruleset"


def refused(calls: str, program: str, *arguments: str) -> str:
    """What a program prints where the system refuses these calls."""
    command = [sys.executable, "-c", REFUSING + program, calls, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout, done.stderr
    return done.stdout


def doctor_where(calls: str) -> dict:
    return json.loads(refused(calls, "from autograder.cli import main\nmain(['doctor', '--json'])"))


def held(found: dict) -> set[str]:
    return {layer["name"] for layer in found["layers"] if layer["holds"]}


def held_here() -> set[str]:
    with Child({}) as child:
        return set(child.layers)


def advice(found: dict) -> dict[str, str]:
    return {layer["name"]: layer["advice"] for layer in found["layers"]}


def test_what_is_missing_is_named_with_what_to_do():
    assert missing(LAYERS) == {}
    assert list(missing([])) == list(LAYERS)
    assert list(missing(["limits", "landlock", "seccomp"])) == ["namespaces", "folder"]
    assert "libseccomp" in missing(["limits"])["seccomp"]


def test_the_doctor_and_a_child_agree(capsys):
    code = cli.main(["doctor", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert held(found) == held_here()
    assert [layer["name"] for layer in found["layers"]] == list(LAYERS)
    assert code == (0 if found["able"] else 1)
    assert found["confined"] == (held(found) == set(LAYERS))


def test_a_person_reads_the_same(capsys):
    code = cli.main(["doctor"])
    text = capsys.readouterr().out
    for name in (*LAYERS, "python", "nbgrader", "jupyterlab", "psycopg", "distributed", "chromium"):
        assert name in text
    assert ("Other people's work can be graded here." in text) == (code == 0)


@linux
def test_without_namespaces_the_rest_holds_and_advice_is_given():
    found = doctor_where(NO_NAMESPACES)
    assert held(found) == held_here() - {"namespaces", "folder"}
    assert "user namespaces" in advice(found)["namespaces"]
    assert not found["able"]
    assert not found["confined"]


WITHOUT_ADMINISTRATION = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_SYS_ADMIN = 24, 21
assert ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0) == 0
os.execv(sys.executable, [sys.executable, "-m", "autograder", "doctor", "--json"])
"""


@linux
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="these tests do not run as root")
def test_root_in_a_container_that_allows_user_namespaces_has_all_that_others_have():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ADMINISTRATION],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert held(json.loads(done.stdout)) == held_here()


@linux
def test_without_landlock_the_rest_holds_and_advice_is_given():
    found = doctor_where(NO_LANDLOCK)
    assert held(found) == held_here() - {"landlock"}
    assert "Linux 5.13" in advice(found)["landlock"]
    assert not found["able"]


# What the walls that need no privilege keep, where there are no namespaces. `works` tells what went through.
TRIES = """
import ctypes, os, given
libc = ctypes.CDLL(None, use_errno=True)
def works(call, *arguments):
    try: return call(*arguments) != -1
    except OSError: return False
parent = os.getppid()
done = dict(
    own=works(open, 'mine', 'w'), read=works(open, secret), write=works(open, secret, 'a'),
    chmod=works(os.chmod, secret, 0o777), utime=works(os.utime, secret), remove=works(os.remove, secret),
    link=works(os.link, secret, 'x'), kill=works(os.kill, parent, 0), fork=works(libc.fork),
    socket=works(libc.socket, 1, 1, 0), proc=works(open, f'/proc/{parent}/environ'), chown=works(os.chown, 'mine', 0, 0),
)
[name for name in done if done[name]]
"""
IN_A_CHILD = """
import tempfile
from autograder.child.near import Child
tempfile.tempdir = sys.argv[2]
with Child({'given.py': b'x = 1'}) as child:
    reply = child.ask(60, do='run', source=sys.argv[3])
print(reply['outputs'][-1]['data']['text/plain'])
"""


@linux
def test_without_namespaces_a_child_still_gets_at_nothing(tmp_path):
    if not {"landlock", "seccomp"} <= held_here():
        pytest.skip("the walls that need no privilege are missing here, too")
    secret, temporary = tmp_path / "secret", tmp_path / "tmp"
    temporary.mkdir()
    secret.write_text("secret")
    before = secret.stat()
    shown = refused(NO_NAMESPACES, IN_A_CHILD, str(temporary), f"secret = {str(secret)!r}\n{TRIES}")
    assert shown.strip() == "['own']"
    after = secret.stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (before.st_mode, before.st_mtime_ns, 1)
    assert list(temporary.iterdir()) == []


def test_a_layer_that_does_not_do_its_work_does_not_hold(monkeypatch):
    if "limits" not in held_here():
        pytest.skip("there are no limits here")
    monkeypatch.setitem(doctor.TRIALS, "limits", "raise AssertionError('memory was to be had')")
    limits, *others = doctor.layers()
    assert not limits.holds
    assert "memory was to be had" in limits.advice
    assert {layer.name for layer in others if layer.holds} == held_here() - {"limits"}


def test_where_no_child_starts_the_doctor_says_so(monkeypatch):
    def lost(*_: object) -> None:
        raise Lost("it ended the process it ran in")

    monkeypatch.setattr(doctor, "Child", lost)
    found = doctor.diagnose()
    assert not any(layer.holds for layer in found.layers)
    assert "no child could be started" in found.as_text()
    assert not found.able


def test_on_another_system_it_says_what_that_means():
    found = doctor.Diagnosis("darwin", (doctor.Layer("landlock", False, "", "use Linux"),), ())
    assert "runs with your rights" in found.as_text()
    assert not found.able
