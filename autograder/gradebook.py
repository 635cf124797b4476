"""The gradebook: nbgrader's own tables, opened once and written by one process."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nbgrader import api
from nbgrader.plugins import CsvExportPlugin
from nbgrader.preprocessors import AssignLatePenalties
from nbgrader.utils import parse_utc
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from traitlets.config import Config

from .course import Assignment, CourseError
from .marking import Master, Result

TRIES, WAIT = 4, 1.0  # a database that is locked or away is asked so often, waiting longer each time
NO_RESPONSE = "No response."  # nbgrader's comment on an answer that is as it was released


@dataclass(frozen=True)
class Score:
    """One submission: its points so far, of how many, and how many answers await a person."""

    score: float
    max_score: float
    to_mark: int


@dataclass(frozen=True)
class Change:
    """A submission that had a score before; equal scores are no change."""

    student: str
    assignment: str
    before: float
    after: float


@dataclass(frozen=True)
class Marks:
    """What a submission has in the gradebook: points and possible points, and comments, by cell."""

    scores: Mapping[str, tuple[float, float]]
    comments: Mapping[str, str | None]
    late_penalty: float


@dataclass(frozen=True)
class _Entry:
    """An assignment's rows that submissions refer to: grade and solution cells, by name."""

    id: str
    notebook_id: str
    duedate: datetime | None
    grades: Mapping[str, str]
    comments: Mapping[str, str]
    points: Mapping[str, float]


Rows = list[dict[str, Any]]


class Book:
    """A course's gradebook. Use it as a context manager; one process at a time writes it."""

    def __init__(self, url: str, course_id: str, config: Config | None = None) -> None:
        try:
            self._gradebook = api.Gradebook(url, course_id)
        except (SQLAlchemyError, ModuleNotFoundError) as error:
            hint = (
                "; a URL is wanted, such as sqlite:///gradebook.db"
                if isinstance(error, ArgumentError)
                else ""
            )
            raise CourseError(f"the gradebook cannot be opened: {_first_line(error)}{hint}") from error
        self._db = self._gradebook.db
        self._late = AssignLatePenalties(config=config or Config())
        self._late.init_plugin()
        self._entries: dict[str, _Entry] = {}

    def __enter__(self) -> "Book":
        return self

    def __exit__(self, *_: object) -> None:
        self._gradebook.close()

    def knows(self, one: Assignment) -> bool:
        """Whether `one` has been entered, with its notebook."""
        try:
            self._gradebook.find_notebook(one.notebook, one.name)
        except api.MissingEntry:
            return False
        return True

    def master(self, one: Assignment, released: bytes) -> Master:
        """`one`, which the gradebook knows, with its cells as they were entered."""
        notebook = self._gradebook.find_notebook(one.notebook, one.name)
        cells = {cell.name: (cell.source, cell.checksum) for cell in notebook.source_cells}
        return Master(one.name, released, cells, json.loads(notebook.kernelspec or "{}"))

    def graded(self) -> set[tuple[str, str]]:
        """The submissions that have scores, as pairs of assignment and student."""
        query = (
            select(api.Assignment.name, api.SubmittedAssignment.student_id)
            .join(api.SubmittedAssignment, api.SubmittedAssignment.assignment_id == api.Assignment.id)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.assignment_id == api.SubmittedAssignment.id)
        )
        with self._transaction():
            return {(name, student) for name, student in self._db.execute(query)}

    def record(self, marked: Sequence[tuple[Result, datetime | None]]) -> list[Change]:
        """Enters results, each with the time it was handed in, all of them or none.

        What a person has entered stays as it is. Returns the scores that there were before.
        """
        for attempt in range(TRIES):
            try:
                with self._transaction():
                    return self._record(marked)
            except OperationalError:
                if attempt == TRIES - 1:
                    raise
                time.sleep(WAIT * 2**attempt)
        raise AssertionError("unreachable")

    def marks(self, assignment: str, students: Sequence[str]) -> dict[str, "Marks"]:
        """What the gradebook says of the submissions of some students, by student."""
        entry = self._entry(assignment)
        # a written answer has a grade and a comment of the same name, in two cells
        names = {cell: name for cells in (entry.grades, entry.comments) for name, cell in cells.items()}
        table, book = api.SubmittedAssignment, api.SubmittedNotebook
        query = (
            select(table.student_id, book.id, book.late_submission_penalty)
            .join(book, book.assignment_id == table.id)
            .where(table.assignment_id == entry.id, table.student_id.in_(students))
        )
        with self._transaction():
            found = {row.id: row for row in self._db.execute(query)}
            grades = self._grades(list(found))
            comments = self._comments(list(found))
        return {
            row.student_id: Marks(
                {
                    names[cell]: (_score_of(one), entry.points[cell])
                    for cell, one in grades.get(notebook, {}).items()
                },
                {names[cell]: one.comment for cell, one in comments.get(notebook, {}).items()},
                row.late_submission_penalty or 0.0,
            )
            for notebook, row in found.items()
        }

    def scores(self) -> dict[str, dict[str, Score]]:
        """What every student has, by student and assignment."""
        table: dict[str, dict[str, Score]] = {}
        for assignment in self._gradebook.assignments:
            for one in assignment.submissions:
                to_mark = sum(grade.needs_manual_grade for book in one.notebooks for grade in book.grades)
                score = Score(one.score, one.max_score, to_mark)
                table.setdefault(one.student.id, {})[assignment.name] = score
        return table

    def export(self, file: Path) -> None:
        """Writes all scores to a CSV file as `nbgrader export` does."""
        CsvExportPlugin(to=str(file)).export(self._gradebook)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            yield
            self._db.commit()
        except BaseException:
            self._db.rollback()
            raise

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            assignment = self._gradebook.find_assignment(name)
            (notebook,) = assignment.notebooks
            self._entries[name] = _Entry(
                assignment.id,
                notebook.id,
                assignment.duedate,
                {cell.name: cell.id for cell in notebook.grade_cells},
                {cell.name: cell.id for cell in notebook.solution_cells},
                {cell.id: cell.max_score for cell in notebook.grade_cells},
            )
        return self._entries[name]

    def _record(self, marked: Sequence[tuple[Result, datetime | None]]) -> list[Change]:
        self._add_students({result.student for result, _ in marked})
        known = self._known(marked)
        before = self._grades([row.notebook for row in known.values()])
        comments = self._comments([row.notebook for row in known.values()])
        rows = _Rows()
        changes = []
        for result, time_in in marked:
            entry = self._entry(result.assignment)
            row = known.get((entry.id, result.student)) or rows.submission(entry, result.student, time_in)
            old = before.get(row.notebook, {})
            scores = rows.grades(entry, row.notebook, result, old)
            rows.comments(entry, row.notebook, result, comments.get(row.notebook, {}))
            late = _seconds_late(entry, row, time_in or row.timestamp)
            rows.submitted(row, time_in, self._penalty(result.student, sum(scores), late))
            if old:
                earlier = sum(map(_score_of, old.values()))
                changes.append(Change(result.student, result.assignment, earlier, sum(scores)))
        rows.write(self._db)
        return changes

    def _add_students(self, students: set[str]) -> None:
        query = select(api.Student.id).where(api.Student.id.in_(students))
        missing = students - set(self._db.execute(query).scalars())
        if missing:
            self._db.execute(insert(api.Student), [{"id": one} for one in sorted(missing)])

    def _known(self, marked: Sequence[tuple[Result, Any]]) -> dict[tuple[str, str], "_Submitted"]:
        """The submissions that the gradebook has already, by assignment and student."""
        table = api.SubmittedAssignment
        query = (
            select(table.assignment_id, table.student_id, table.id, api.SubmittedNotebook.id)
            .add_columns(table.timestamp, table.extension)
            .join(api.SubmittedNotebook, api.SubmittedNotebook.assignment_id == table.id)
            .where(table.student_id.in_({result.student for result, _ in marked}))
            .where(table.assignment_id.in_({self._entry(result.assignment).id for result, _ in marked}))
        )
        return {(row[0], row[1]): _Submitted(*row[2:]) for row in self._db.execute(query)}

    def _grades(self, notebooks: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The grades of submitted notebooks, by notebook and cell."""
        table = api.Grade
        columns = (table.notebook_id, table.cell_id, table.id)
        values = (table.auto_score, table.manual_score, table.extra_credit)
        return self._by_notebook(select(*columns, *values).where(table.notebook_id.in_(notebooks)))

    def _comments(self, notebooks: Sequence[str]) -> dict[str, dict[str, Any]]:
        table = api.Comment
        query = select(table.notebook_id, table.cell_id, table.id, table.comment.label("comment"))
        return self._by_notebook(query.where(table.notebook_id.in_(notebooks)))

    def _by_notebook(self, query: Any) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for row in self._db.execute(query):
            found.setdefault(row.notebook_id, {})[row.cell_id] = row
        return found

    def _penalty(self, student: str, score: float, seconds: float) -> float | None:
        """What the course's own rule takes off a notebook that came so late."""
        if seconds <= 0:
            return None
        penalty = self._late.plugin_inst.late_submission_penalty(student, score, seconds)
        if penalty is None:
            return None
        bounded: float = self._late._check_late_penalty(SimpleNamespace(score=score), penalty)
        return bounded


@dataclass(frozen=True)
class _Submitted:
    """The rows of one submission."""

    id: str
    notebook: str
    timestamp: datetime | None = None
    extension: Any = None


class _Rows:
    """What is to be written for some submissions, table by table."""

    def __init__(self) -> None:
        self._new: dict[Any, Rows] = {
            table: [] for table in (api.SubmittedAssignment, api.SubmittedNotebook, api.Grade, api.Comment)
        }
        self._changed: dict[Any, Rows] = {
            table: [] for table in (api.SubmittedAssignment, api.SubmittedNotebook, api.Grade, api.Comment)
        }

    def submission(self, entry: _Entry, student: str, time_in: datetime | None) -> _Submitted:
        one = _Submitted(api.new_uuid(), api.new_uuid())
        self._new[api.SubmittedAssignment].append(
            {"id": one.id, "assignment_id": entry.id, "student_id": student, "timestamp": time_in}
        )
        self._new[api.SubmittedNotebook].append(
            {"id": one.notebook, "assignment_id": one.id, "notebook_id": entry.notebook_id}
        )
        return one

    def grades(self, entry: _Entry, notebook: str, result: Result, old: Mapping[str, Any]) -> list[float]:
        """Enters the automatic scores; returns what each cell counts, a person's score before ours."""
        counted = []
        for name, cell in entry.grades.items():
            auto, row = result.scores[name], old.get(cell)
            marked = row is not None and row.manual_score is not None
            values = {"auto_score": auto, "needs_manual_grade": marked or auto is None}
            if row is None:
                new = {"id": api.new_uuid(), "cell_id": cell, "notebook_id": notebook}
                self._new[api.Grade].append({**new, **values})
                counted.append(auto or 0.0)
            else:
                self._changed[api.Grade].append({"key": row.id, **values})
                counted.append(_score(auto, row.manual_score, row.extra_credit))
        return counted

    def comments(self, entry: _Entry, notebook: str, result: Result, old: Mapping[str, Any]) -> None:
        for name, cell in entry.comments.items():
            comment = {"auto_comment": NO_RESPONSE if name in result.unanswered else None}
            if cell in old:
                self._changed[api.Comment].append({"key": old[cell].id, **comment})
            else:
                new = {"id": api.new_uuid(), "cell_id": cell, "notebook_id": notebook}
                self._new[api.Comment].append({**new, **comment})

    def submitted(self, row: _Submitted, time_in: datetime | None, penalty: float | None) -> None:
        self._changed[api.SubmittedNotebook].append({"key": row.notebook, "late_submission_penalty": penalty})
        if time_in is not None:
            self._changed[api.SubmittedAssignment].append({"key": row.id, "timestamp": time_in})

    def write(self, db: Any) -> None:
        for table, rows in self._new.items():
            if rows:
                db.execute(insert(table), rows)
        connection = db.connection()
        for table, rows in self._changed.items():
            if rows:
                columns: dict[str, Any] = {name: bindparam(name) for name in rows[0] if name != "key"}
                statement = update(table.__table__).where(table.__table__.c.id == bindparam("key"))
                connection.execute(statement.values(**columns), rows)


def _seconds_late(entry: _Entry, row: _Submitted, handed_in: datetime | None) -> float:
    if handed_in is None or entry.duedate is None:
        return 0.0
    due = entry.duedate + row.extension if row.extension else entry.duedate
    return max(0.0, (handed_in - due).total_seconds())


def parse_time(text: str) -> datetime:
    """A time as nbgrader's exchange writes it, in UTC; ValueError for what is none."""
    found: datetime = parse_utc(text)
    return found


def _score_of(row: Any) -> float:
    return _score(row.auto_score, row.manual_score, row.extra_credit)


def _score(auto: float | None, manual: float | None, extra: float | None) -> float:
    """What a cell counts, by the rule of nbgrader's Grade.score."""
    points = auto if manual is None else manual
    return 0.0 if points is None else points + (extra or 0.0)


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]
