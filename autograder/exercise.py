"""What an exercise is, and how an answer to it is judged: data and pure functions."""

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from random import Random
from types import CodeType
from typing import Any

from .observe.run import Case, Observation, Observer, observations

MESSAGE_LINES = 8
KEPT = 2000  # observations of the reference, for each notebook
SHOWN = 120  # characters of a value that a message shows


@dataclass(frozen=True)
class Tolerance:
    """Two numbers count as equal within `absolute + relative * |expected|`; `because` says why."""

    relative: float
    absolute: float
    because: str

    def allows(self, got: float, expected: float) -> bool:
        return abs(got - expected) <= self.absolute + self.relative * abs(expected)


EXACT = Tolerance(0.0, 0.0, "the answer is a whole number, a word or a structure")
ROUNDING = Tolerance(
    1e-9, 1e-12, "another order of the same few operations moves the last digits of a double only"
)


@dataclass(frozen=True)
class Mistake:
    """A known wrong answer: the code in the solution's place, and what its author should read."""

    id: str
    code: str
    explanation: str


def edited(code: str, old: str, new: str) -> str:
    """`code` with its one occurrence of `old` replaced: a mistake told as a slip of the pen.

    Raises ValueError where `old` occurs not once.
    """
    if code.count(old) != 1:
        raise ValueError(f"{old!r} occurs {code.count(old)} times, not once, in:\n{code}")
    return code.replace(old, new)


@dataclass(frozen=True)
class Exercise:
    """One exercise, declared once; everything that judges an answer to it.

    `call` words a case as the student would type it: a format string over the case, or a function
    of it. `parts` maps each part of an observation to the place to look at when it is wrong; the
    parts share the points equally. `reading` is applied to every observed value, expected or not,
    before they are compared: it says what of the value matters. The parts named in `exact` have no
    tolerance. Those in `conditions` earn only where all the others are right: an answer that does
    nothing leaves its arguments alone, too. `attach` is what the test cell
    runs first, to put the answer to use. An exercise that asks for values has `asks="values"`.
    """

    id: str
    points: int
    call: str | Callable[[Case], str]
    observe: Observer
    reference: str
    parts: Mapping[str, str]
    lesson: Sequence[Case]
    draw: Callable[[Random], Iterable[Case]]
    tolerance: Tolerance
    variants: Mapping[str, str]
    mistakes: Sequence[Mistake]
    reading: Callable[[Case, str, Any], Any] = lambda case, part, value: value
    exact: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    attach: str = ""
    asks: str = "function"

    def cases(self, seed: str) -> list[Case]:
        """The lesson's own inputs, then those drawn for `seed`."""
        return [*self.lesson, *self.draw(Random(f"{seed}/{self.id}"))]

    def tolerance_of(self, part: str) -> Tolerance:
        """What counts as equal in one part."""
        return EXACT if part in self.exact else self.tolerance

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that an answer defines."""
        tree = ast.parse(self.reference).body
        defined = [node.name for node in tree if isinstance(node, ast.FunctionDef)]
        targets = [target for node in tree if isinstance(node, ast.Assign) for target in node.targets]
        stored = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        return (*defined, *stored)

    def wording(self, case: Case) -> str:
        """`case` as the student would type it."""
        return self.call.format(**case) if isinstance(self.call, str) else self.call(case)


def no_draw(random: Random) -> tuple[Case, ...]:
    """For an answer that is one value: there is nothing to draw."""
    return ()


@dataclass(frozen=True)
class Written:
    """A written answer, which a person marks."""

    id: str
    points: int


@dataclass(frozen=True)
class Notebook:
    """The exercises of one assignment, in their order, and the code that its notebook gives."""

    assignment: str
    given: str
    exercises: tuple[Exercise, ...]
    written: tuple[Written, ...] = ()

    @property
    def points(self) -> int:
        return sum(one.points for one in self.exercises) + sum(one.points for one in self.written)

    def exercise(self, exercise_id: str) -> Exercise:
        return next(one for one in self.exercises if one.id == exercise_id)

    def names(self, exercise: Exercise, code: str) -> dict[str, Any]:
        """The names after the given code, the references before `exercise`, and `code`.

        `code` is one of the declared answers, never a student's.
        """
        names: dict[str, Any] = {"__name__": "notebook"}
        _run(self.given, names)
        for earlier in self.exercises[: self.exercises.index(exercise)]:
            _run(earlier.reference, names)
            _run(earlier.attach, names)
        _run(code, names)
        _run(exercise.attach, names)
        return names

    def observe(self, exercise: Exercise, code: str, cases: Sequence[Case]) -> Iterator[Observation]:
        """What `exercise` shows of the declared answer `code` on `cases`, one after the other."""
        return observations(exercise.observe, self.names(exercise, code), cases)

    @cached_property
    def _seen(self) -> dict[tuple[str, str], list[Observation]]:
        """What declared answers have shown on the lesson's cases, by exercise and code."""
        return {}

    def observe_lesson(self, exercise: Exercise, code: str) -> list[Observation]:
        """What the declared answer `code` shows on the lesson's own cases: the same for everybody."""
        key = exercise.id, code
        if key not in self._seen:
            self._seen[key] = [*self.observe(exercise, code, exercise.lesson)]
        return self._seen[key]

    def expected(self, exercise: Exercise, cases: Sequence[Case]) -> list[Observation]:
        """What the reference shows on `cases`, which begin with the lesson's own.

        Of drawn cases the latest are kept: the costly ones, such as long chains, are few and come again.
        """
        names = None
        seen = [*self.observe_lesson(exercise, exercise.reference)]
        for case in cases[len(exercise.lesson) :]:
            key = exercise.id, json.dumps(case, sort_keys=True)
            one = self._drawn.pop(key, None)
            if one is None:
                names = names or self.names(exercise, exercise.reference)
                one = next(observations(exercise.observe, names, [case]))
            self._drawn[key] = one  # the last is the latest
            if len(self._drawn) > KEPT:
                del self._drawn[next(iter(self._drawn))]
            seen.append(one)
        return seen

    @cached_property
    def _drawn(self) -> dict[tuple[str, str], Observation]:
        return {}


@lru_cache(maxsize=1024)
def _compiled(code: str) -> CodeType:
    return compile(code, "<declared>", "exec")


def _run(code: str, names: dict[str, Any]) -> None:
    exec(_compiled(code), names)


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth: its score, the parts that were wrong, and what to tell its author."""

    score: float
    points: int
    message: str = ""
    mistake: str | None = None
    wrong: tuple[str, ...] = field(default=())

    @property
    def right(self) -> bool:
        return not self.wrong


def judge(
    notebook: Notebook,
    exercise: Exercise,
    cases: Sequence[Case],
    seen: Sequence[Observation],
    cell_error: Mapping[str, Any] | None = None,
) -> Verdict:
    """The verdict on what was `seen` of an answer to `exercise` on `cases`.

    `cell_error` describes what the answer's own cell raised; it explains a name that is missing.
    The reference is observed here, on the same cases; so are the known mistakes, where the answer
    differs. Pure: the same arguments give the same verdict.
    """
    failures = _failures(notebook, exercise, cases, seen)
    wrong = tuple(part for part in exercise.parts if any(f.part == part for f in failures))
    if not wrong:
        return Verdict(float(exercise.points), exercise.points)
    score = round(exercise.points * _earned(exercise, wrong) / len(exercise.parts), 2)
    mistake = _recognise(notebook, exercise, cases, seen)
    smallest = min(failures, key=_size)
    message = mistake.explanation if mistake else _difference(exercise, smallest, cell_error)
    return Verdict(score, exercise.points, message, mistake.id if mistake else None, wrong)


def _earned(exercise: Exercise, wrong: Sequence[str]) -> int:
    """How many of the parts earn their share."""
    right = [part for part in exercise.parts if part not in wrong]
    if any(part not in exercise.conditions for part in wrong):
        right = [part for part in right if part not in exercise.conditions]
    return len(right)


@dataclass(frozen=True)
class _Failure:
    """One part of one case that came out wrong."""

    case: Case
    part: str
    got: Any
    expected: Any
    error: Mapping[str, Any] | None


def is_right(
    notebook: Notebook, exercise: Exercise, cases: Sequence[Case], seen: Sequence[Observation]
) -> bool:
    """Whether what was `seen` of an answer earns all points."""
    return not _failures(notebook, exercise, cases, seen)


def _failures(
    notebook: Notebook, exercise: Exercise, cases: Sequence[Case], seen: Sequence[Observation]
) -> list[_Failure]:
    expected = notebook.expected(exercise, cases)
    failures = []
    for case, one, right in zip(cases, seen, expected, strict=True):
        for part, value in right["parts"].items():
            got = one["parts"].get(part)
            if part not in one["parts"] or not same(
                exercise.reading(case, part, got),
                exercise.reading(case, part, value),
                exercise.tolerance_of(part),
            ):
                error = one["error"] if part not in one["parts"] else None
                failures.append(_Failure(case, part, got, value, error))
    return failures


def same(got: Any, expected: Any, tolerance: Tolerance) -> bool:
    """Whether two plain values agree: numbers within the tolerance, all else exactly."""
    if repr(got) == repr(expected):  # most do to the last digit, which costs little to see
        return True
    if _is_number(got) and _is_number(expected):
        return got == expected or tolerance.allows(got, expected)
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(
            same(a, b, tolerance) for a, b in zip(got, expected, strict=True)
        )
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(
            same(got[key], expected[key], tolerance) for key in expected
        )
    return type(got) is type(expected) and bool(got == expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _recognise(
    notebook: Notebook, exercise: Exercise, cases: Sequence[Case], seen: Sequence[Observation]
) -> Mistake | None:
    """The first known mistake that shows on these cases just what was seen."""
    for mistake in exercise.mistakes:
        # The lesson's cases are the same for everybody: most mistakes are ruled out without running them,
        # others by the first drawn case that shows a difference.
        if _all_alike(exercise, seen, notebook.observe_lesson(exercise, mistake.code)) and _all_alike(
            exercise, seen, notebook.observe(exercise, mistake.code, cases)
        ):
            return mistake
    return None


def _all_alike(exercise: Exercise, seen: Sequence[Observation], shown: Iterable[Observation]) -> bool:
    """Whether what was `seen` begins with what was `shown`."""
    return all(_alike(exercise, a, b) for a, b in zip(seen, shown, strict=False))


def _alike(exercise: Exercise, seen: Observation, shown: Observation) -> bool:
    errors = [one["error"] and (one["error"]["type"], one["error"]["text"]) for one in (seen, shown)]
    return (
        errors[0] == errors[1]
        and seen["parts"].keys() == shown["parts"].keys()
        and all(
            same(value, shown["parts"][part], exercise.tolerance_of(part))
            for part, value in seen["parts"].items()
        )
    )


def _size(failure: _Failure) -> tuple[int, str]:
    text = json.dumps(failure.case, sort_keys=True)
    return len(text), text


def _difference(exercise: Exercise, failure: _Failure, cell_error: Mapping[str, Any] | None) -> str:
    place = exercise.parts[failure.part]
    call = exercise.wording(failure.case)
    if failure.error and failure.error["type"] == "answer" and cell_error:
        return _error_message("Your cell", cell_error, "the line above; what stands after it was not run")
    if failure.error:
        return _error_message(call, failure.error, place)
    lines = [
        f"{call}: {failure.part} is wrong." if call else f"{failure.part} is wrong.",
        f"  yours:    {_shown(failure.got)}",
    ]
    if exercise.asks == "function":  # for a single value the expected one is the answer
        lines.append(f"  expected: {_shown(failure.expected)}")
    return "\n".join([*lines, f"Look at: {place}"])


def _error_message(call: str, error: Mapping[str, Any], place: str) -> str:
    if error["type"] == "answer":
        return f"{call}: {error['text']}" if call else str(error["text"])
    if error["type"] == "NotImplementedError":
        return "Not answered yet: the stub still raises NotImplementedError."
    lines = [f"{call} raised {error['type']}: {error['text']}".splitlines()[0]]
    lines += [f"  line {number}: {text}" for number, text in error["lines"][-4:]]
    return "\n".join([*lines, f"Look at: {place}"])


def _shown(value: Any) -> str:
    text = repr(_short(value))
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


def _short(value: Any) -> Any:
    """`value` with its numbers to ten digits, as many as tell a right answer from a wrong one."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, list):
        return [_short(item) for item in value]
    return {key: _short(item) for key, item in value.items()} if isinstance(value, dict) else value
