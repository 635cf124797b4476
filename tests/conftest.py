"""What all tests share."""

import os
import signal

import pytest

from autograder.course import find_course

SLOW = (
    "test_plain_nbgrader.py",
    "test_audit.py",
    "test_nbgrader_grading.py",
    "test_nbgrader_cycle.py",
    "test_demo.py",
)


def pytest_collection_modifyitems(items):
    """The slow tests first, so that at the end no worker waits for another's; the browser's before all."""
    items.sort(key=lambda item: SLOW.index(item.path.name) if item.path.name in SLOW else len(SLOW))
    items.sort(key=lambda item: item.path.parent.name != "browser")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With several workers, one has all the browser's tests: they share servers and pages.

    Marks of xdist_group would say the same, but pytest 9.2 does not hand them to pytest-xdist 3.8.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Sharing(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "browser" if nodeid.startswith("tests/browser/") else nodeid

    return Sharing(config, log)


@pytest.fixture(scope="session", autouse=True)
def nobody_s_settings(tmp_path_factory):
    """Keeps what the person who runs the tests has configured for Jupyter and nbgrader out of them."""
    home = tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AUTOGRADER_EXCHANGE", raising=False)
        patch.delenv("JUPYTER_PATH", raising=False)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(home / name.lower()))
        yield


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard():
    """Where the tests run in a shell's background, they and all that they start would ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def nobody_stays_elsewhere():
    """A test that leaves the working folder changed would fail others, on some days."""
    before = os.getcwd()
    yield
    assert os.getcwd() == before


@pytest.fixture
def in_the_course(monkeypatch):
    """Runs a test in the course's folder, as its commands are."""
    monkeypatch.chdir(find_course().root)
