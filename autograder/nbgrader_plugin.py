"""What nbgrader runs of ours, and what we run of nbgrader's.

`configure(c)` in nbgrader_config.py makes `nbgrader autograde` and Formgrader's button mend each
submission, run it in a confined process, judge it outside, and write feedback pages that explain.
"""

import logging
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import BaseConverter
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    Execute,
    GetGrades,
    IgnorePattern,
    LimitOutput,
    NbGraderPreprocessor,
    SaveAutoGrades,
)
from sqlalchemy.exc import SAWarning
from traitlets import Bool, Enum, Float, Unicode
from traitlets.config import Config, PyFileConfigLoader

from .course import ASSIGNMENTS, Assignment, Course, CourseError
from .feedback import Pages, configure_pages, summary, without_hidden_tests
from .grade import SECONDS, Terms
from .marking import mark, mend, recorded
from .submission import read_folder


def load_config(file: Path) -> Config:
    """The configuration written in an nbgrader_config.py."""
    return PyFileConfigLoader(file.name, path=str(file.parent)).load_config()


@dataclass(frozen=True)
class Settings:
    """What a course's nbgrader_config.py says of its gradebook and its files."""

    config: Config
    db_url: str
    course_id: str
    groupshared: bool


def settings(course: Course, db_url: str | None = None) -> Settings:
    """The settings of `course`, with the gradebook at `db_url` where one is given."""
    config = load_config(course.root / "nbgrader_config.py")
    config.CourseDirectory.root = str(course.root)
    if db_url:
        config.CourseDirectory.db_url = db_url
    folder = CourseDirectory(config=config)
    return Settings(config, folder.db_url, folder.course_id, folder.groupshared)


def generate_release(config_file: Path, root: Path, assignments: Iterable[Assignment]) -> None:
    """Makes `root`/release from `root`/source as `nbgrader generate_assignment` does.

    Raises CourseError with nbgrader's own complaint where it refuses a notebook.
    """
    for assignment in assignments:
        _start(*converter_of(GenerateAssignment, root, config_file, assignment), assignment)


def enter(course: Course, assignment: Assignment, db_url: str) -> None:
    """Enters an assignment into the gradebook as `nbgrader generate_assignment` does; release/ stays.

    Raises CourseError where its source is missing, or nbgrader refuses it.
    """
    if not (course.source / assignment.name / assignment.file).is_file():
        raise CourseError(f"{course.source / assignment.name} is missing: run 'autograder build' first")
    config_file = course.root / "nbgrader_config.py"
    converter, complaints = converter_of(GenerateAssignment, course.root, config_file, assignment)
    with TemporaryDirectory() as folder:
        converter.coursedir.db_url, converter.coursedir.release_directory = db_url, folder
        _start(converter, complaints, assignment)


def _start(converter: BaseConverter, complaints: list[str], assignment: Assignment) -> None:
    try:
        converter.start()
    except Exception as error:
        complaint = "; ".join(complaints) or str(error)
        raise CourseError(f"nbgrader refuses {assignment.name}: {complaint}") from error


def converter_of(
    kind: type[BaseConverter], root: Path, config_file: Path, assignment: Assignment
) -> tuple[BaseConverter, list[str]]:
    """One of nbgrader's converters for one assignment of the course in `root`, all students.

    The list fills with what it complains of while it runs.
    """
    config = load_config(config_file)
    config.CourseDirectory.root = str(root)
    config.CourseDirectory.db_url = f"sqlite:///{root / 'gradebook.db'}"
    coursedir = CourseDirectory(config=config, assignment_id=assignment.name)
    converter = kind(coursedir=coursedir, config=config)
    converter.log, complaints = _quiet_log()
    return converter, complaints


def _quiet_log() -> tuple[logging.Logger, list[str]]:
    """A logger that keeps nbgrader's errors instead of printing its progress."""
    complaints: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            complaints.append(record.getMessage().strip().splitlines()[-1])

    log = logging.Logger("nbgrader", level=logging.ERROR)
    log.addHandler(Keep())
    return log, complaints


def configure(c: Config) -> None:
    """Puts the course's own grading and feedback pages into nbgrader's configuration."""
    root = c.CourseDirectory.root
    c.Autograde.exporter_class = MendingExporter
    c.MendingExporter.root = c.JudgedExecute.root = root
    c.Autograde.pre_convert_hook = one_notebook
    c.Autograde.autograde_preprocessors = [
        JudgedExecute,
        IgnorePattern,
        ClearMetadataPreprocessor,
        LimitOutput,
        SaveAutoGrades,
        AssignLatePenalties,
        CheckCellMetadata,
    ]
    c.GenerateFeedback.preprocessors = [GetGrades, Summarise, CSSHTMLHeaderPreprocessor]
    c.GenerateFeedback.exporter_class = Pages
    configure_pages(c)
    # SQLAlchemy 2.1 warns of nbgrader's way to fill its tables, which nbgrader's own tests cover.
    warnings.filterwarnings("ignore", category=SAWarning, module="nbgrader")


def _ours(resources: dict[str, Any]) -> Assignment | None:
    """The assignment that a notebook of nbgrader's belongs to, None for one that is not ours."""
    info = resources.get("nbgrader", {})
    for one in ASSIGNMENTS:
        if (one.name, one.notebook) == (info.get("assignment"), info.get("notebook")):
            return one
    return None


def one_notebook(assignment: str, student: str, notebooks: list[str]) -> None:
    """Has nbgrader ask for the assignment's notebook alone, whatever files lie in its folder."""
    for one in ASSIGNMENTS:
        if one.name == assignment:
            notebooks[:] = [str(Path(notebooks[0]).parent / one.file)]


class MendingExporter(NotebookExporter):
    """Reads a submission whatever state its file is in, and notes what had to be mended."""

    root = Unicode(help="The course's folder").tag(config=True)

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> Any:
        assignment = _ours(resources or {})
        if assignment is None or not self.parent._sanitizing:
            return super().from_filename(filename, resources=resources, **kw)
        released = Course(Path(self.root)).read_released(assignment)
        notebook, notes, _ = mend(read_folder(Path(filename).parent, assignment.file), assignment, released)
        notebook.metadata["autograder"] = {"notes": list(notes)}
        return self.from_notebook_node(notebook, resources=resources, **kw)


class JudgedExecute(NbGraderPreprocessor):
    """Runs a notebook's cells in a process of their own and judges its exercises in this one."""

    root = Unicode(help="The course's folder").tag(config=True)
    seconds = Float(SECONDS, help="What each cell and each observation may take").tag(config=True)
    isolation = Enum(("full", "none"), "full", help="none: grade without all layers, too").tag(config=True)
    figures = Bool(False, help="Whether to draw figures that nobody has to look at").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        assignment = _ours(resources)
        if assignment is None:
            outcome: tuple[NotebookNode, Any] = Execute(parent=self.parent).preprocess(nb, resources)
            return outcome
        course = Course(Path(self.root))
        seed = course.seed(resources["nbgrader"]["student"])
        terms = Terms(self.seconds, self.figures, self.isolation == "full")
        graded = mark(nb, assignment, course.read_released(assignment), seed, terms)
        nb.metadata.setdefault("autograder", {}).update(recorded(graded, terms))
        return nb, resources


class Summarise(NbGraderPreprocessor):
    """Puts a page's table together, and takes the hidden tests off its cells."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        scores = resources["nbgrader"]
        resources["summary"] = summary(nb, scores["score"], scores["max_score"], scores["late_penalty"])
        without_hidden_tests(nb)
        return nb, resources
