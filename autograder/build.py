"""Text -> source -> release, and the instructor's edits of source back into text."""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .course import BESIDE, Assignment, Course, CourseError
from .exercise import Notebook
from .exercises import declared
from .nbgrader_plugin import generate_release
from .text import TextError, load_text, write_text

CARD = re.compile(
    r"^\*\*(\d+) points?\*\* · \d+ minutes? · difficulty [1-5]/5 · importance [1-5]/5$",
    re.MULTILINE,
)
FOLDED = ("Hint 1", "Hint 2", "Hint 3", "Help: ")
LEFT_BY_JUPYTER = {".ipynb_checkpoints", "__pycache__"}


def build(course: Course, assignments: Sequence[Assignment], *, check: bool = False) -> list[str]:
    """Builds source/ and release/ anew; returns what differed, a line a file.

    With `check` nothing is written. Raises TextError for text that does not fit the contract.
    """
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Course(Path(scratch))
        for one in assignments:
            write_source(course, one, fresh.source / one.name)
        generate_release(course.root / "nbgrader_config.py", fresh.root, assignments)
        changes = []
        for one in assignments:
            for new, old in ((fresh.source, course.source), (fresh.release, course.release)):
                changes += _replace(new / one.name, old / one.name, course.root, check)
        return changes


def write_source(course: Course, assignment: Assignment, folder: Path) -> None:
    """Writes the instructor's notebook and the files beside it into `folder`."""
    text = course.text(assignment)
    where = str(text.relative_to(course.root))
    notebook = load_text(text, where)
    check_contract(notebook, assignment, declared(assignment), where)
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / assignment.file)
    for file in text.parent.iterdir():
        if file.is_file() and file != text:
            shutil.copyfile(file, folder / file.name)
    for name in assignment.beside:
        shutil.copyfile(BESIDE / name, folder / name)


def bring_back(course: Course, assignment: Assignment) -> bool:
    """Writes an edited source notebook back into its text; returns whether the text changed.

    Raises CourseError where there is no source notebook, TextError where it has no text form.
    """
    path = course.source / assignment.name / assignment.file
    if not path.is_file():
        raise CourseError(f"{path} is missing: run 'autograder build {assignment.name}' first")
    where = str(path.relative_to(course.root))
    text = write_text(nbformat.read(path, as_version=4), where)
    target = course.text(assignment)
    changed = not target.is_file() or target.read_text(encoding="utf-8") != text
    if changed:
        target.write_text(text, encoding="utf-8")
    return changed


def _replace(new: Path, old: Path, root: Path, check: bool) -> list[str]:
    """Makes `old` the same as `new`, or with `check` only tells what differs."""
    changes = []
    for name in sorted(_files(new) | _files(old)):
        ours, theirs = new / name, old / name
        where = theirs.relative_to(root)
        if not ours.is_file():
            changes.append(f"{where}: no longer built")
            if not check:
                theirs.unlink()
        elif not theirs.is_file() or theirs.read_bytes() != ours.read_bytes():
            changes.append(f"{where}: {'out of date' if theirs.is_file() else 'missing'}")
            if not check:
                theirs.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ours, theirs)
    return changes


def _files(folder: Path) -> set[Path]:
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path for path in files if not LEFT_BY_JUPYTER & set(path.parts)}


def check_contract(
    notebook: NotebookNode, assignment: Assignment, declarations: Notebook, where: str
) -> None:
    """Refuses an instructor's notebook that does not hold just the declared exercises.

    Raises TextError that names the file and the exercise: one that is missing, not declared, out
    of order or with other points; a solution without its test; a test without its check; an
    exercise without its card, its three hints or its help; a written one without its model answer,
    or with something after it.
    """
    if declarations.points != assignment.points:
        raise TextError(
            f"{where}: its declarations have {declarations.points} points in all, "
            f"the contract {assignment.points}"
        )
    wanted = [(one.id, one.points) for one in declarations.exercises]
    wanted += [(one.id, one.points) for one in declarations.written]
    found = []
    cells = notebook.cells
    for before, cell, after in zip([None, *cells[:-1]], cells, [*cells[1:], None], strict=True):
        nbgrader = cell.metadata.get("nbgrader", {})
        grade_id, place = cell.id, f"{where}, cell {cell.id!r}"
        if nbgrader.get("solution") and nbgrader.get("grade"):
            found.append((grade_id, nbgrader["points"]))
            _check_written(cell.source, place)
        elif nbgrader.get("solution"):
            follows = after is not None and after.id == f"{grade_id}-test"
            _need(follows, place, f"is not followed by its test, '{grade_id}-test'")
            _need("BEGIN SOLUTION" in cell.source, place, "has no BEGIN SOLUTION")
            _check_card(before, after.metadata["nbgrader"]["points"], place)
        elif nbgrader.get("grade"):
            name = grade_id.removesuffix("-test")
            follows = before is not None and before.id == name
            _need(follows, place, f"does not follow its solution, '{name}'")
            found.append((name, nbgrader["points"]))
            _check_test(cell.source, name, place)
    if found != wanted:
        missing = [f"{name} ({points})" for name, points in wanted if (name, points) not in found]
        extra = [f"{name} ({points})" for name, points in found if (name, points) not in wanted]
        raise TextError(
            f"{where}: the exercises are not the declared ones in their order; "
            f"missing: {', '.join(missing) or 'none'}; not declared: {', '.join(extra) or 'none'}"
        )
    for one in declarations.exercises:
        source = next(cell.source for cell in cells if cell.id == f"{one.id}-test")
        place = f"{where}, cell '{one.id}-test'"
        _need(source.startswith(one.attach), place, f"does not begin with {one.attach!r}")


def _need(holds: bool, place: str, complaint: str) -> None:
    if not holds:
        raise TextError(f"{place}: {complaint}")


def hidden_test(exercise_id: str) -> str:
    """The hidden end of an exercise's test cell."""
    return (
        "### BEGIN HIDDEN TESTS\n"
        f'from autograder.kernel import check; check("{exercise_id}")\n'
        "### END HIDDEN TESTS"
    )


def _check_test(source: str, exercise_id: str, place: str) -> None:
    ending = hidden_test(exercise_id)
    _need(source.endswith(ending), place, f"does not end with its hidden test:\n{ending}")
    _need("assert" in source, place, "has no visible test before the hidden one")


def _check_written(source: str, place: str) -> None:
    """What follows the model answer would stand in the students' cell, below what they write."""
    end = "### END SOLUTION"
    _need("### BEGIN SOLUTION" in source, place, "has no model answer in BEGIN SOLUTION")
    _need(source.rstrip().endswith(end), place, f"does not end with {end!r}: its students would see the rest")


def _check_card(cell: NotebookNode | None, points: int, place: str) -> None:
    text = cell.source if cell is not None and cell.cell_type == "markdown" else ""
    card = CARD.search(text)
    _need(
        card is not None,
        place,
        "has no card in the text above it: '**2 points** · 5 minutes · difficulty 1/5 · importance 4/5'",
    )
    _need(card is not None and int(card[1]) == points, place, f"has a card with other than {points} points")
    for summary in FOLDED:
        _need(
            f"<summary>{summary}" in text,
            place,
            f"has no folded '{summary.strip(': ')}' in the text above it",
        )
