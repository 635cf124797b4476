"""Where the course lies and what it consists of: folders, assignments, notebooks, points."""

import compileall
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from py_compile import PycInvalidationMode
from tempfile import TemporaryDirectory


class CourseError(Exception):
    """A call that cannot be carried out; its one line says what, where and what to do."""


@dataclass(frozen=True)
class Assignment:
    """One section of the lesson: a folder that holds one notebook.

    `name` is the folder, `notebook` the notebook without its ending, `points` the sum of its
    exercises' points, and `beside` the files of `autograder/beside/` that its code imports.
    """

    name: str
    notebook: str
    points: int
    beside: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """The notebook's file name."""
        return f"{self.notebook}.ipynb"


ASSIGNMENTS = (
    Assignment("01-derivatives", "derivatives", 10, ("explorable.py", "figures.py")),
    Assignment("02-chain-rule", "chain_rule", 12, ("explorable.py", "figures.py")),
    Assignment("03-value-engine", "value_engine", 24, ("explorable.py", "figures.py")),
    Assignment(
        "04-gradient-check", "gradient_check", 12, ("engine.py", "explorable.py", "figures.py", "suspects.py")
    ),
    Assignment("05-softmax", "softmax", 12, ("engine.py", "explorable.py", "figures.py")),
    Assignment("06-matrix-product", "matrix_product", 12, ("explorable.py", "figures.py")),
    Assignment("07-gradient-descent", "gradient_descent", 10, ("engine.py", "explorable.py", "figures.py")),
    Assignment("08-learning-rate", "learning_rate", 8, ("explorable.py", "figures.py")),
)

SECRET = ".course-secret"
BESIDE = Path(__file__).parent / "beside"
UNDRAWN = BESIDE / "undrawn"  # stand-ins that show nothing


def assignment(name: str) -> Assignment:
    """The assignment called `name`; a CourseError lists the names where there is none."""
    for one in ASSIGNMENTS:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in ASSIGNMENTS)
    raise CourseError(f"there is no assignment {name!r}: choose from {names}")


@cache
def laid_beside(one: Assignment, drawn: bool) -> Mapping[str, bytes]:
    """The files that lie beside `one`'s notebook while it is graded, by name, with their byte code.

    Explorations are never shown then, and figures only where they are to be `drawn`.
    """
    stands_in = {"explore.py", "explorable.py"} | (set() if drawn else {"figures.py"})
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in {*one.beside, "explore.py"}:
            shutil.copy((UNDRAWN if name in stands_in else BESIDE) / name, folder)
        compileall.compile_dir(folder, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def select(names: Iterable[str]) -> tuple[Assignment, ...]:
    """The assignments of those names, or all of them where none is named."""
    return tuple(assignment(name) for name in names) or ASSIGNMENTS


@dataclass(frozen=True)
class Course:
    """The folders of one copy of the course."""

    root: Path

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def release(self) -> Path:
        return self.root / "release"

    def released(self, one: Assignment) -> Path:
        """`one`'s notebook as students are given it."""
        return self.release / one.name / one.file

    def read_released(self, one: Assignment) -> bytes:
        """What is in that file; CourseError where it is missing, or no notebook."""
        path = self.released(one)
        try:
            data = path.read_bytes()
            json.loads(data)["cells"]
        except (OSError, ValueError, LookupError, TypeError):
            raise CourseError(f"{path} is missing or damaged: run 'autograder build' first") from None
        return data

    def folder(self, step: str, name: str, student: str) -> Path:
        """A student's folder of the assignment `name` in `step`, such as submitted or autograded."""
        return self.root / step / student / name

    def students_of(self, step: str, one: Assignment, pattern: str = "*") -> list[str]:
        """The students, of those that match `pattern`, who have a folder of `one` in `step`.

        In a pattern `*` stands for anything, and every other sign for itself.
        """
        folders = (self.root / step).glob(f"*/{one.name}")
        students = sorted(folder.parent.name for folder in folders if folder.is_dir())
        return [student for student in students if _matches(student, pattern)]

    def strays(self, assignments: Iterable[Assignment], pattern: str = "*") -> dict[tuple[str, str], str]:
        """Submissions that are none, by assignment and student, and why: of the students who match, those
        without a folder of the assignment, yet with something that may be meant as it.
        """
        found = {}
        for student in sorted((self.root / "submitted").iterdir()):
            if not student.is_dir() or not _matches(student.name, pattern):
                continue
            try:
                names, unreadable = os.listdir(student), ""
            except OSError as error:
                names, unreadable = [], f"the student's folder cannot be read: {error.strerror}"
            for one in assignments:
                alike = [name for name in names if _letters(name).startswith(_letters(one.name))]
                if unreadable:
                    found[one.name, student.name] = unreadable
                elif alike and not (student / one.name).is_dir():
                    why = f"{alike[-1]} is no folder of that name: unpack or rename it"
                    found[one.name, student.name] = why
        return found

    def secret(self) -> str:
        """What makes this course's drawn inputs unforeseeable; made at the first call, then kept."""
        file = self.root / SECRET
        if not file.is_file():
            _make_secret(file)
        secret = file.read_text(encoding="ascii", errors="replace").strip()
        if len(secret) < 16 or not secret.isascii():
            raise CourseError(f"{file} is damaged: put it back from a copy, or delete it and regrade")
        return secret

    def seed(self, student: str) -> str:
        """What the inputs for `student` are drawn from."""
        return f"{self.secret()}/{student}"

    def text(self, one: Assignment) -> Path:
        """The MyST text that `one`'s notebook is built from."""
        return self.notebooks / one.name / f"{one.notebook}.md"


def _matches(student: str, pattern: str) -> bool:
    return bool(re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), student, re.DOTALL))


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _make_secret(file: Path) -> None:
    """Whole or not at all; of two processes at once, the first makes it."""
    draft = file.with_name(f"{SECRET}.{secrets.token_hex(8)}")
    try:
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_hex(32), encoding="ascii")
        os.link(draft, file)
    except FileExistsError:
        pass
    finally:
        draft.unlink(missing_ok=True)


def find_course(*starts: Path) -> Course:
    """The course that one of `starts` lies in, the working directory without any.

    It is found by its nbgrader_config.py. Raises CourseError where neither they nor a folder above
    them holds one.
    """
    starts = tuple(start.resolve() for start in starts or [Path.cwd()])
    for start in starts:
        for folder in (start, *start.parents):
            if (folder / "nbgrader_config.py").is_file():
                return Course(folder)
    raise CourseError(f"{starts[0]} is not in a course: change into the folder that holds nbgrader_config.py")
