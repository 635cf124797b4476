"""The proof of the tests: every declared answer judged as a submission's, and every reference mutated.

An answer is put in the place of its solution in an otherwise right notebook and graded: a variant
must keep all points, a mistake must lose points, be recognised, and cost no other exercise any. The
references' mutants that change what is observed must be caught, too.
"""

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

import nbformat
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from nbformat import NotebookNode

from .child.near import Child, Lost
from .course import Assignment, Course, CourseError, laid_beside
from .exercise import Exercise, Notebook, is_right
from .exercises import declared
from .grade import SECONDS, Graded, grade, observer_name

SEED = "audit"
MUTANT_SEEDS = ("audit", "second", "third")
MUTANT_SECONDS = 3.0


@dataclass
class Row:
    """What the audit found of one exercise.

    `faults` are sentences, none where all is well; `alike` the mutants that no input told from the
    reference.
    """

    exercise: str
    variants: int = 0
    accepted: int = 0
    mistakes: int = 0
    caught: int = 0
    recognised: int = 0
    kept: int = 0
    mutants: int = 0
    surviving: int = 0
    faults: list[str] = field(default_factory=list)
    alike: list[str] = field(default_factory=list)


HEADINGS = (
    "exercise",
    "variants accepted",
    "mistakes caught",
    "recognised",
    "others keep",
    "mutants survive",
)


def audit(course: Course, assignments: Iterable[Assignment]) -> list[Row]:
    """A row for each exercise of `assignments`, in order.

    Raises CourseError where an assignment's source is not built.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [
            pool.submit(_audit_exercise, _skeleton(course, one), one, exercise)
            for one in assignments
            for exercise in declared(one).exercises
        ]
        return [task.result() for task in tasks]


def as_text(rows: Sequence[Row]) -> str:
    """The table for a terminal, then the faults."""
    table = [HEADINGS, *map(_texts, rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) for line in table]
    lines += [f"{row.exercise}: {fault}" for row in rows for fault in row.faults]
    mistakes, mutants = (sum(getattr(row, what) for row in rows) for what in ("mistakes", "mutants"))
    alike = sum(len(row.alike) for row in rows)
    lines.append(f"{len(rows)} exercises, {mistakes} mistakes, {mutants} mutants, {alike} of them alike")
    return "\n".join(lines)


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


def _texts(row: Row) -> tuple[str, ...]:
    return (
        row.exercise,
        f"{row.accepted} of {row.variants}",
        f"{row.caught} of {row.mistakes}",
        f"{row.recognised} of {row.mistakes}",
        f"{row.kept} of {row.mistakes}",
        f"{row.surviving} of {row.mutants}",
    )


def _skeleton(course: Course, assignment: Assignment) -> NotebookNode:
    """The instructor's notebook with its given cells and its exercises, without prose and figures."""
    path = course.source / assignment.name / assignment.file
    if not path.is_file():
        raise CourseError(f"{path} is missing: run 'autograder build {assignment.name}' first")
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    return notebook


def with_answers(notebook: NotebookNode, answers: dict[str, str]) -> NotebookNode:
    """A copy of `notebook` with other code in the solution cells of those ids."""
    answered = copy.deepcopy(notebook)
    for cell in answered.cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = answers.get(name, cell.source)
    return answered


def _audit_exercise(skeleton: NotebookNode, assignment: Assignment, exercise: Exercise) -> Row:
    row = Row(exercise.id)
    notebook = declared(assignment)
    files = laid_beside(assignment, drawn=False)

    def graded(code: str) -> Graded:
        return grade(with_answers(skeleton, {exercise.id: code}), notebook, SEED, files)

    for name, code in {"the reference": exercise.reference, **exercise.variants}.items():
        _audit_right(row, exercise, name, graded(code))
    for mistake in exercise.mistakes:
        _audit_mistake(row, exercise, mistake.id, graded(mistake.code))
    _audit_mutants(row, notebook, exercise, files)
    return row


def _audit_right(row: Row, exercise: Exercise, name: str, graded: Graded) -> None:
    row.variants += 1
    wrong = [one for one, verdict in graded.verdicts.items() if not verdict.right]
    if wrong:
        row.faults.append(f"with {name}, points are lost in {', '.join(wrong)}")
    else:
        row.accepted += 1


def _audit_mistake(row: Row, exercise: Exercise, name: str, graded: Graded) -> None:
    verdict = graded.verdicts[exercise.id]
    others = [one for one, v in graded.verdicts.items() if one != exercise.id and not v.right]
    row.mistakes += 1
    row.caught += verdict.score < exercise.points
    row.recognised += verdict.mistake == name
    row.kept += not others
    if verdict.score >= exercise.points:
        row.faults.append(f"the mistake {name!r} keeps all points")
    elif verdict.mistake != name:
        row.faults.append(f"the mistake {name!r} is taken for {verdict.mistake!r}")
    if others:
        row.faults.append(f"the mistake {name!r} costs points in {', '.join(others)}")


def mutants(code: str) -> Iterator[str]:
    """Every different mutant of `code`, one change each, by cosmic-ray's operators."""
    seen = {code}
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments():
            continue  # it needs settings of its own
        occurrence = 0
        while (mutant := mutate_code(code, operator(), occurrence)) is not None:
            occurrence += 1
            if mutant not in seen:
                seen.add(mutant)
                yield mutant


def _audit_mutants(row: Row, notebook: Notebook, exercise: Exercise, files: Mapping[str, bytes]) -> None:
    """Counts the reference's mutants: a survivor passes on some inputs and fails on others.

    A mutant that no input of several seeds tells from the reference is kept in `row.alike`, to be
    read by a person: it should behave as the reference does.
    """
    with _Bench(notebook, exercise, files) as bench:
        for mutant in mutants(exercise.reference):
            row.mutants += 1
            passes = {bench.passes(mutant, seed) for seed in MUTANT_SEEDS}
            if passes == {True}:
                row.alike.append(mutant)
            elif passes == {True, False}:
                row.surviving += 1
                row.faults.append(f"a mutant survives on some inputs:\n{mutant}")


class _Bench:
    """A child in the state before one exercise, to try answer after answer."""

    def __init__(self, notebook: Notebook, exercise: Exercise, files: Mapping[str, bytes]) -> None:
        self._notebook, self._exercise, self._files = notebook, exercise, files
        self._child = self._start()

    def __enter__(self) -> "_Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close()

    def _start(self) -> Child:
        child = Child(self._files)
        earlier = self._notebook.exercises[: self._notebook.exercises.index(self._exercise)]
        given = self._notebook.given.replace("autograder.beside.", "")
        for code in (given, *(code for one in earlier for code in (one.reference, one.attach))):
            child.ask(SECONDS, do="put", source=code)
        return child

    def passes(self, code: str, seed: str) -> bool:
        """Whether `code` has all points on the inputs of `seed`; one that never ends has not."""
        cases = self._exercise.cases(seed)
        try:
            about = {"to": self._exercise.id, "names": []}
            self._child.ask(MUTANT_SECONDS, do="answer", source=code, **about)
            self._child.ask(MUTANT_SECONDS, do="run", source=self._exercise.attach)
            name = observer_name(self._exercise)
            seen = self._child.ask(MUTANT_SECONDS, do="observe", name=name, cases=cases, **about)
            self._child.ask(MUTANT_SECONDS, do="put", source="", instead=self._exercise.id)
        except Lost:
            self._child = self._start()
            return False
        return is_right(self._notebook, self._exercise, cases, seen["observations"])
