"""The declarations of the exercises, one module a notebook."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from ..course import ASSIGNMENTS, Assignment
from ..exercise import Exercise, Notebook


@cache
def declared(assignment: Assignment) -> Notebook:
    """The declarations of one assignment's notebook."""
    notebook: Notebook = import_module(f".{assignment.notebook}", __name__).NOTEBOOK
    return notebook


def notebooks() -> Iterator[Notebook]:
    """All declared notebooks, in the order of the course."""
    return (declared(assignment) for assignment in ASSIGNMENTS)


def find(exercise_id: str) -> tuple[Notebook, Exercise]:
    """The exercise of that id and its notebook; KeyError where none is declared."""
    for notebook in notebooks():
        for exercise in notebook.exercises:
            if exercise.id == exercise_id:
                return notebook, exercise
    raise KeyError(exercise_id)
