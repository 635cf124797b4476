"""`check("value-mul")`: the hidden test of a notebook that plain nbgrader runs in a kernel.

The answer is judged inside the process that runs it, which is weaker than the isolated grading:
student code could interfere. Nothing else changes: inputs, observation and judge are the same.
"""

import sys

from .exercise import judge
from .exercises import find
from .observe.run import observations

WEAKER = "(judged inside the kernel, where student code could interfere)"


class WrongAnswer(AssertionError):
    """An answer that earns nothing; its message is for the student, without a stack of ours."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


def check(exercise_id: str) -> float | None:
    """Judges the caller's answer to an exercise, as nbgrader reads it off a test cell.

    Returns None with all its points, the points where some of its parts are right, and raises
    WrongAnswer with none. Raises KeyError for an id that is not declared.
    """
    notebook, exercise = find(exercise_id)
    cases = exercise.cases("kernel")
    names = sys._getframe(1).f_globals
    verdict = judge(notebook, exercise, cases, [*observations(exercise.observe, names, cases)])
    print(WEAKER)
    if verdict.right:
        return None
    if verdict.score == 0:
        raise WrongAnswer(verdict.message)
    print(verdict.message)
    return verdict.score
