"""tasks.py: one clear line where something is in the way, and a student's work is kept."""

import importlib.util
import subprocess
import sys

import pytest

from autograder.course import find_course

ROOT = find_course().root


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """tasks.py in an empty folder with a lock, without programs: what it would have run is in `ran`."""
    spec = importlib.util.spec_from_file_location("tasks", ROOT / "tasks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.ROOT, module.VENV, module.STAMP = tmp_path, tmp_path / ".venv", tmp_path / ".venv" / "set-up.txt"
    module.PYTHON = module.VENV / "python"
    (tmp_path / "requirements.lock").write_text("numpy==2", encoding="utf-8")
    module.ran, module.codes = [], {}

    def call(command, **_):
        module.ran.append(" ".join(map(str, command)))
        if "venv" in command:
            module.VENV.mkdir(exist_ok=True)
            module.PYTHON.touch()
        return next((code for part, code in module.codes.items() if part in module.ran[-1]), 0)

    monkeypatch.setattr(subprocess, "call", call)
    monkeypatch.chdir(tmp_path)
    return module


def said(capsys):
    """The one line on stderr."""
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_bad_call(tasks, capsys):
    assert [tasks.main([]), tasks.main(["dmeo"])] == [2, 2]
    assert capsys.readouterr().err.count("usage: python tasks.py demo|lab|lock|setup|test") == 2


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 14, 0)])
def test_a_python_that_does_not_suit(tasks, version, capsys, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    assert tasks.main(["demo"]) == 2
    assert "3.11, 3.12 or 3.13 is wanted" in said(capsys)
    assert tasks.ran == []


def test_a_python_without_venv(tasks, capsys, monkeypatch):
    monkeypatch.setattr(tasks, "find_spec", lambda name: None)
    assert tasks.main(["setup"]) == 2
    assert "install python3-venv" in said(capsys)


@pytest.mark.parametrize("part", ["--require-hashes", "--no-build-isolation"])
def test_an_install_that_fails_is_tried_again(tasks, part, capsys):
    tasks.codes[part] = 1
    assert tasks.main(["demo"]) == 2
    assert "could not be installed" in said(capsys)
    assert not any("autograder" in command for command in tasks.ran)
    tasks.codes.clear()
    assert tasks.main(["setup"]) == 0
    assert tasks.STAMP.is_file()


def test_sets_up_once_for_each_lock_and_each_folder(tasks):
    assert tasks.main(["setup"]) == 0
    assert any("--require-hashes -r requirements.lock" in command for command in tasks.ran)
    tasks.ran.clear()
    assert tasks.main(["setup"]) == 0
    assert tasks.ran == []
    (tasks.ROOT / "requirements.lock").write_text("numpy==3", encoding="utf-8")
    assert tasks.main(["setup"]) == 0
    assert not any("-m venv" in command for command in tasks.ran)
    assert any("--require-hashes" in command for command in tasks.ran)
    tasks.STAMP.write_text(tasks.STAMP.read_text(encoding="utf-8").replace(".venv", "elsewhere"), "utf-8")
    tasks.ran.clear()
    assert tasks.main(["setup"]) == 0
    assert "-m venv --clear" in tasks.ran[0]


class TestLab:
    @pytest.fixture(autouse=True)
    def released(self, tasks):
        first = tasks.ROOT / "release" / tasks.FIRST
        first.parent.mkdir(parents=True)
        first.write_text("{}", encoding="utf-8")

    def test_keeps_what_a_student_did(self, tasks):
        assert tasks.main(["lab"]) == 0
        mine = tasks.ROOT / "lab" / tasks.FIRST
        assert tasks.ran[-1].endswith(str(mine))
        mine.write_text("my work", encoding="utf-8")
        assert tasks.main(["lab", "--no-browser"]) == 0
        assert mine.read_text(encoding="utf-8") == "my work"
        assert " --no-browser " in tasks.ran[-1]

    def test_fresh_puts_it_aside(self, tasks):
        tasks.main(["lab"])
        mine = tasks.ROOT / "lab" / tasks.FIRST
        mine.write_text("my work", encoding="utf-8")
        assert tasks.main(["lab", "--fresh"]) == 0
        assert mine.read_text(encoding="utf-8") == "{}"
        (aside,) = tasks.ROOT.glob("lab-*")
        assert (aside / tasks.FIRST).read_text(encoding="utf-8") == "my work"
        assert "--fresh" not in tasks.ran[-1]

    def test_conda_s_environment_is_used_as_it_is(self, tasks, monkeypatch):
        monkeypatch.setenv("CONDA_DEFAULT_ENV", "autograd-by-hand")
        assert tasks.main(["lab"]) == 0
        (command,) = tasks.ran
        assert command.startswith(f"{sys.executable} -m jupyter lab")
