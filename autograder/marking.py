"""One submission: bytes in, result out.

Needs this package and nothing else: no database, no course folder, no shared disk. So it runs the same
in this process, in a pool of processes and on another machine.
"""

import copy
import gc
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4.rwbase import split_lines, strip_transient

from . import course
from .course import Assignment, laid_beside
from .exercises import declared
from .grade import Graded, Terms, Unconfined, grade, warm_up
from .harmless import make_harmless
from .submission import pick, repair

Notebooks = Mapping[str, bytes]

GIVEN_UP = "It could not be graded, since the grading itself failed ({}): tell your instructor."


@dataclass(frozen=True)
class Master:
    """An assignment as the gradebook knows it: what every submission of it is measured by.

    `released` is the students' notebook; `cells` holds the source and the checksum of each of
    nbgrader's cells, hidden tests included, `kernelspec` the kernel it is meant for.
    """

    assignment: str
    released: bytes
    cells: Mapping[str, tuple[str, str]]
    kernelspec: Mapping[str, Any]


@dataclass(frozen=True)
class Task:
    """A submission to be marked: the notebooks in its folder, and what its inputs are drawn from.

    `stamp` is what its timestamp said when the notebooks were read, None where there was none.
    """

    student: str
    master: Master
    notebooks: Notebooks
    seed: str
    terms: Terms = field(default_factory=Terms)
    stamp: bytes | None = None


@dataclass(frozen=True)
class Result:
    """What a submission is worth, and its notebook with the outputs and the verdicts.

    `scores` has the points of each of nbgrader's grade cells, None where a person has to mark.
    `unanswered` names the solution cells that are as they were released. `notes` say what was mended,
    `reason` why nothing could be read, `layers` what confined the student's code, `stamp` is the task's.
    """

    student: str
    assignment: str
    notebook: bytes
    scores: Mapping[str, float | None]
    unanswered: frozenset[str]
    notes: tuple[str, ...]
    reason: str | None
    layers: tuple[str, ...]
    stamp: bytes | None


def ready() -> None:
    """Gets this process ready for its first task: what has to be loaded is loaded."""
    for one in course.ASSIGNMENTS:
        declared(one)
    warm_up()
    gc.collect()
    gc.freeze()  # what is loaded stays: no later collection has to look through it


def carry_out(task: Task) -> Result:
    """Marks one submission, in whatever state it is.

    Where that fails, for a reason that nobody has thought of, it has no points, and says so.
    """
    assignment = course.assignment(task.master.assignment)
    try:
        return _marked(task, *mend(task.notebooks, assignment, task.master.released))
    except (Unconfined, OSError):  # no fault of the submission
        raise
    except Exception as error:
        reason = GIVEN_UP.format(type(error).__name__)
        return _marked(task, copy.deepcopy(_parsed(task.master.released)), (reason,), reason)


def _marked(task: Task, notebook: NotebookNode, notes: tuple[str, ...], reason: str | None) -> Result:
    assignment = course.assignment(task.master.assignment)
    notebook.metadata["autograder"] = {"notes": list(notes)}
    _as_written(notebook, task.master)
    graded = mark(notebook, assignment, task.master.released, task.seed, task.terms)
    notebook.metadata["autograder"] |= recorded(graded, task.terms)
    unanswered = _unanswered(notebook, task.master.released)
    return Result(
        student=task.student,
        assignment=assignment.name,
        scores=_scores(notebook, graded, unanswered),
        unanswered=unanswered,
        notes=notes,
        reason=reason,
        layers=graded.layers,
        stamp=task.stamp,
        notebook=_dump(notebook),  # at the end: it is of no use afterwards
    )


def recorded(graded: Graded, terms: Terms) -> dict[str, Any]:
    """What a graded notebook says of how it was run."""
    asked = {} if terms.confined else {"isolation": "none"}
    return {"layers": list(graded.layers), **asked}


def mend(
    notebooks: Notebooks, assignment: Assignment, released: bytes
) -> tuple[NotebookNode, tuple[str, ...], str | None]:
    """The assignment's notebook among `notebooks`, mended; what was mended; why it cannot be read.

    Where there is none that can be read, it is the released one, with nothing answered.
    """
    names = {exercise.id: exercise.names for exercise in declared(assignment).exercises}
    picked = pick(notebooks, notebooks.__getitem__, assignment.file, names)
    data = notebooks[picked.name] if picked.name else b""
    mended = repair(data, _parsed(released), names)
    if not picked.name:
        return mended.notebook, picked.notes, picked.notes[0]
    return mended.notebook, (*picked.notes, *mended.notes), mended.reason


def mark(notebook: NotebookNode, assignment: Assignment, released: bytes, seed: str, terms: Terms) -> Graded:
    """Runs and judges a mended notebook, and sees to it that it shows what a person will look at.

    Pictures are drawn where the `terms` ask for them. Else they are drawn only where somebody has to
    read the notebook, and its author has changed a cell that is not an answer: what a cell draws that
    is as it was released, behind answers that are right or replaced, is the same for all.
    """
    declarations = declared(assignment)
    read, given = bool(declarations.written), plain_cells(_parsed(released))
    drawn = terms.figures or (read and plain_cells(notebook) != given)
    graded = grade(
        notebook, declarations, seed, laid_beside(assignment, drawn), replace(terms, given=given.values())
    )
    make_harmless(notebook, _parsed(released))
    if read and not drawn:
        pictures = _pictures(assignment.name, released)
        for cell in notebook.cells:
            if cell.id in pictures:
                cell.outputs = copy.deepcopy(pictures[cell.id])
    return graded


@lru_cache(maxsize=len(course.ASSIGNMENTS))
def _parsed(released: bytes) -> NotebookNode:
    return nbformat.reads(released.decode(), as_version=4)


def plain_cells(notebook: NotebookNode) -> dict[str, str]:
    """The sources of the code cells that are no answers and no tests, by cell id."""
    return {cell.id: cell.source for cell in notebook.cells if cell.cell_type == "code" and _is_plain(cell)}


def _is_plain(cell: NotebookNode) -> bool:
    nbgrader = cell.metadata.get("nbgrader", {})
    return not (nbgrader.get("solution") or nbgrader.get("grade"))


@lru_cache(maxsize=len(course.ASSIGNMENTS))
def _pictures(name: str, released: bytes) -> dict[str, list[NotebookNode]]:
    """What the released notebook's cells draw when every answer is replaced by its reference."""
    assignment = course.assignment(name)
    notebook = nbformat.reads(released.decode(), as_version=4)
    grade(notebook, declared(assignment), "pictures", laid_beside(assignment, drawn=True))  # our own code
    plain = plain_cells(notebook)
    return {cell.id: cell.outputs for cell in notebook.cells if cell.id in plain and _is_drawn(cell)}


def _is_drawn(cell: NotebookNode) -> bool:
    return any(
        kind == "text/html" or kind.startswith("image/")
        for output in cell.outputs
        for kind in output.get("data", {})
    )


def _as_written(notebook: NotebookNode, master: Master) -> None:
    """Puts the instructor's own cells in, hidden tests included, as nbgrader does before it grades."""
    notebook.metadata["kernelspec"] = dict(master.kernelspec)
    for cell in notebook.cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("grade_id") in master.cells:
            source, nbgrader["checksum"] = master.cells[nbgrader["grade_id"]]
            if nbgrader["locked"]:
                cell.source = source


def _unanswered(notebook: NotebookNode, released: bytes) -> frozenset[str]:
    stubs = {cell.id: cell.source for cell in _parsed(released).cells}
    return frozenset(
        cell.metadata["nbgrader"]["grade_id"]
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.source == stubs.get(cell.id)
    )


def _scores(notebook: NotebookNode, graded: Graded, unanswered: frozenset[str]) -> dict[str, float | None]:
    scores: dict[str, float | None] = {}
    for cell in notebook.cells:
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("grade"):
            name = nbgrader["grade_id"]
            verdict = graded.verdicts.get(name.removesuffix("-test"))
            written = 0.0 if name in unanswered else None
            scores[name] = written if nbgrader["solution"] or verdict is None else verdict.score
    return scores


def _dump(notebook: NotebookNode) -> bytes:
    """The notebook's file, as nbgrader writes it; valid by its making, so it is not validated again.

    The notebook is of no use afterwards: nbformat's writer would copy all of it first.
    """
    lines = strip_transient(split_lines(notebook))
    return json.dumps(lines, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"
