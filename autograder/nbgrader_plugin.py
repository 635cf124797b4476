"""nbgrader's converters as the build and the grading use them."""

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config, PyFileConfigLoader

from .course import Assignment, CourseError


def load_config(file: Path) -> Config:
    """The configuration written in an nbgrader_config.py."""
    return PyFileConfigLoader(file.name, path=str(file.parent)).load_config()


def generate_release(config_file: Path, root: Path, assignments: Iterable[Assignment]) -> None:
    """Makes `root`/release from `root`/source as `nbgrader generate_assignment` does.

    Raises CourseError with nbgrader's own complaint where it refuses a notebook.
    """
    config = load_config(config_file)
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}"
    for assignment in assignments:
        coursedir = CourseDirectory(config=config, assignment_id=assignment.name)
        converter = GenerateAssignment(coursedir=coursedir, config=config)
        converter.log, complaints = _quiet_log()
        with _working_directory(root):
            try:
                converter.start()
            except Exception as error:
                complaint = "; ".join(complaints) or str(error)
                raise CourseError(f"nbgrader refuses {assignment.name}: {complaint}") from error


def _quiet_log() -> tuple[logging.Logger, list[str]]:
    """A logger that keeps nbgrader's errors instead of printing its progress."""
    complaints: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            complaints.append(record.getMessage().strip().splitlines()[-1])

    log = logging.Logger("nbgrader", level=logging.ERROR)
    log.addHandler(Keep())
    return log, complaints


@contextmanager
def _working_directory(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
