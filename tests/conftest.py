"""What all tests share."""

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
    """The slow tests first, so that at the end no worker waits for another's."""
    items.sort(key=lambda item: SLOW.index(item.path.name) if item.path.name in SLOW else len(SLOW))


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


@pytest.fixture
def in_the_course(monkeypatch):
    """Runs a test in the course's folder, as its commands are."""
    monkeypatch.chdir(find_course().root)
