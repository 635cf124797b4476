"""The least that grading can cost: a fork for each submission, its code cells, its observations.

No shell, no confinement, no judge, no gradebook, no outputs kept. Called by grading.py.
"""

import io
import json
import os
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import matplotlib.pyplot  # noqa: F401  (loaded beforehand, as in the grading's own processes)
import nbformat
import numpy as np  # noqa: F401
from IPython.display import display  # noqa: F401

from autograder.course import Assignment, Course, laid_beside, select
from autograder.exercise import Notebook
from autograder.exercises import declared
from autograder.observe.run import observations


def run(notebook: nbformat.NotebookNode, declarations: Notebook) -> None:
    """Executes the cells and observes the answers, in this process."""
    names: dict[str, object] = {"__name__": "__main__"}
    exercises = {f"{one.id}-test": one for one in declarations.exercises}
    for cell in notebook.cells:
        exercise = exercises.get(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
        source = cell.source.split("### BEGIN HIDDEN TESTS")[0]
        if cell.cell_type == "code":
            with suppress(Exception):  # a wrong answer: what it costs is what counts here
                exec(compile(source, "<cell>", "exec"), names)
        if exercise:
            json.dumps([*observations(exercise.observe, names, exercise.cases("bare"))])


def submission(path: Path, one: Assignment, beside: Path) -> None:
    """Runs one submission in a process of its own."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.chdir(beside)
            sys.path.insert(0, str(beside))
            sys.stdout = io.StringIO()
            run(nbformat.v4.reads(path.read_text(encoding="utf-8")), declared(one))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"{path} did not run to its end")


def main(room: Course, assignments: tuple[Assignment, ...]) -> None:
    for one in assignments:
        import_module(f"autograder.observe.{one.notebook}")
        beside = room.root / "bare" / one.name
        (beside / "__pycache__").mkdir(parents=True)
        for name, data in laid_beside(one, drawn=False).items():
            (beside / name).write_bytes(data)
        for number, path in enumerate(sorted((room.root / "submitted").glob(f"*/{one.name}/{one.file}")), 1):
            submission(path, one, beside)
            print(f"{number} graded, of {one.name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Course(Path(sys.argv[1])), select(sys.argv[2:]))
