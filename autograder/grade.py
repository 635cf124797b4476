"""One submission's notebook -> its verdicts and its outputs: no database, no course folder.

The cells run in a child process; the answers are judged here, from what the child observed. An
exercise that failed has its reference put in its place, so that it costs nothing after it.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from nbformat import NotebookNode
from nbformat.v4 import new_output

from .child.confine import missing
from .child.near import Child, Killed, Lost
from .child.start import NoStart
from .exercise import MESSAGE_LINES, Exercise, Notebook, Verdict, judge
from .observe.run import Case, Observation

SECONDS = 10.0
PLAIN_SECONDS = 60.0  # for all cells without points together: there may be any number of them
REPLAY_SECONDS = 60.0  # for all that is run again when a child is lost
ATTEMPTS = 3  # at what a child that is killed from outside was asked
LINES = 900  # of a cell's streams that are kept; nbgrader cuts at a thousand
OUTPUTS = 500  # of a cell that are kept
ROOM = 20_000_000  # characters of all outputs of a notebook that are kept
HIDDEN = "### BEGIN HIDDEN TESTS"

Reached = TypeVar("Reached")


class Unconfined(Exception):
    """Layers of isolation are missing on the machine that was to run the notebook; says which."""


@dataclass(frozen=True)
class Terms:
    """How notebooks are run.

    `seconds` is what each cell and each observation may take; `figures` has all figures drawn; where
    `confined` is asked for, nothing runs on a machine that lacks a layer of isolation. Cells whose source
    is among those `given` run however long the others without points took.
    """

    seconds: float = SECONDS
    figures: bool = False
    confined: bool = True
    given: Collection[str] = ()


OWN = Terms(confined=False)  # for work that is one's own


@dataclass(frozen=True)
class Graded:
    """What became of a notebook: its verdicts by exercise, and the layers that confined the child.

    The notebook itself carries the outputs of its cells, and each verdict in its test cell.
    """

    notebook: NotebookNode
    verdicts: dict[str, Verdict]
    layers: tuple[str, ...]


def grade(
    notebook: NotebookNode,
    declarations: Notebook,
    seed: str,
    files: Mapping[str, bytes],
    terms: Terms = Terms(confined=False),
) -> Graded:
    """Runs and judges `notebook`, whose nbgrader cells are those of the release, in their order.

    `seed` draws the inputs, `files` lie beside the notebook. Raises Unconfined, before anything has run,
    where the terms ask for confinement and a layer of it is missing here.
    """
    exercises = {exercise.id: exercise for exercise in declarations.exercises}
    tests = {_grade_id(cell): cell for cell in notebook.cells}
    verdicts = {}
    with _Run(declarations, seed, files, terms) as run:
        if terms.confined and (lacking := missing(run.layers)):
            raise Unconfined(_refusal(lacking))
        for cell in notebook.cells:
            exercise = exercises.get(_grade_id(cell))
            if exercise is not None:
                test = tests[f"{exercise.id}-test"]
                verdicts[exercise.id] = _exercise(run, exercise, cell, test)
            elif cell.cell_type == "code" and _grade_id(cell).removesuffix("-test") not in exercises:
                _plain_cell(run, cell, cell.source in terms.given)
        return Graded(notebook, verdicts, run.layers)


def _refusal(lacking: Mapping[str, str]) -> str:
    names = "\n".join(f"  {name}: {advice}" for name, advice in lacking.items())
    return (
        "other people's work is not graded without all layers of isolation, and this machine lacks\n"
        f"{names}\n'--isolation none' grades all the same, and the results say so. Ask 'autograder doctor'"
    )


def warm_up() -> None:
    """Starts what children are started from, which takes longer than any of them."""
    Child({}).close()


def observer_name(exercise: Exercise) -> str:
    """What the child knows the exercise's observer by."""
    module = exercise.observe.__module__.rsplit(".", 1)[-1]
    return f"{module}.{exercise.observe.__name__}"


def _grade_id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _plain_cell(run: "_Run", cell: NotebookNode, given: bool) -> None:
    """A cell without points; what it does to the process costs nobody anything."""
    if run.plain_left <= 0 and not given:
        why = f"the cells without points before it took {PLAIN_SECONDS:g} seconds, all that they have"
        cell.outputs = [_error("Ended", f"This cell was left out: {why}.")]
        return
    begun = time.monotonic()
    try:
        cell.outputs = run.outputs(run.unkilled(lambda: run.run("run", source=cell.source)))
    except Lost as lost:
        cell.outputs = [_error("Ended", f"This cell was left out: {lost}.")]
    if not given:
        run.plain_left -= time.monotonic() - begun


def _exercise(run: "_Run", exercise: Exercise, solution: NotebookNode, test: NotebookNode) -> Verdict:
    shown: list[NotebookNode] = []
    try:
        verdict, shown = run.unkilled(lambda: _judged(run, exercise, solution, test))
    except Lost as lost:
        message = f"No answer could be seen: {lost}."
        verdict = Verdict(0.0, exercise.points, message, None, tuple(exercise.parts))
    run.judged.append(exercise)
    if not verdict.right:
        run.put(exercise.reference, exercise)
        run.put(exercise.attach)
    test.outputs = _test_outputs(shown, verdict)
    test.metadata["autograder"] = asdict(verdict)
    return verdict


def _judged(
    run: "_Run", exercise: Exercise, solution: NotebookNode, test: NotebookNode
) -> tuple[Verdict, list[NotebookNode]]:
    """The verdict on an answer, and what its visible test showed; raises Lost where the child is."""
    cases = exercise.cases(run.seed)
    solution.outputs = []
    answer = run.run("answer", to=exercise.id, source=solution.source)
    solution.outputs = run.outputs(answer)
    visible = run.run("test", source=test.source.split(HIDDEN)[0])
    shown = run.outputs(visible)
    about = {"to": exercise.id, "names": exercise.names}
    reply = run.ask("observe", name=observer_name(exercise), cases=cases, **about)
    run.steps.append({"do": "settle", **about})
    seen = _checked(reply.get("observations"), cases)
    verdict = judge(run.declarations, exercise, cases, seen, answer["error"])
    return _with_visible(verdict, visible["error"]), shown


def _checked(seen: Any, cases: Sequence[Case]) -> list[Observation]:
    """The observations, if they have their form; raises Lost for what no observer sends."""
    fits = isinstance(seen, list) and len(seen) == len(cases)
    if not fits or not all(
        isinstance(one, dict)
        and isinstance(one.get("parts"), dict)
        and (one.get("error") is None or _is_described(one["error"]))
        for one in seen
    ):
        raise Lost("it meddled with the grading")
    return list(seen)


def _is_described(error: Any) -> bool:
    return (
        isinstance(error, dict)
        and isinstance(error.get("type"), str)
        and isinstance(error.get("text"), str)
        and isinstance(error.get("lines"), list)
        and all(isinstance(line, list) and len(line) == 2 for line in error["lines"])
    )


def _with_visible(verdict: Verdict, error: Any) -> Verdict:
    """Adds the visible test's sentence where no known mistake explains more."""
    if verdict.right or verdict.mistake or not error or error["type"] != "AssertionError":
        return verdict
    lines = [*verdict.message.splitlines(), f"The visible test says: {error['text']}"]
    return replace(verdict, message="\n".join(lines[:MESSAGE_LINES]))


def _outputs(outputs: list[Any]) -> list[NotebookNode]:
    """The child's outputs as a notebook's; what has not their form is left out."""
    kept, lines = [], LINES
    for output in outputs[:OUTPUTS]:
        try:
            one = _well_formed(output)
        except Exception:  # nbformat's validation has several errors; a forged output has no rights
            continue
        if one.output_type == "stream":
            one.text = _first_lines(one.text, lines)
            lines -= one.text.count("\n") + 1
        if one.output_type != "stream" or one.text:
            kept.append(one)
    return kept


def _well_formed(output: Any) -> NotebookNode:
    """An output as a notebook's, by nbformat's validation; streams, as most are, need not wait for it."""
    match output:
        case {"output_type": "stream", "name": str(), "text": str()} if len(output) == 3:
            return NotebookNode(output)
    fields = {key: value for key, value in output.items() if key != "output_type"}
    return new_output(output["output_type"], **fields)


def _first_lines(text: str, most: int) -> str:
    lines = text.split("\n")
    if len(lines) <= most:
        return text
    return "\n".join([*lines[:most], "... Output truncated ..."]) if most > 0 else ""


def _test_outputs(shown: Sequence[NotebookNode], verdict: Verdict) -> list[NotebookNode]:
    """What stands under a test cell, so that nbgrader reads just the verdict's points off it."""
    outputs = []
    for output in shown:
        if output.output_type == "stream":
            outputs.append(new_output("stream", name="stdout", text=output.text))
        elif output.output_type == "display_data":
            outputs.append(output)
    if verdict.right:
        return outputs
    if verdict.score == 0:
        return [*outputs, _error("WrongAnswer", verdict.message)]
    note = f"{verdict.message}\nPart of the points: {verdict.score:g} of {verdict.points}.\n"
    points = new_output("execute_result", data={"text/plain": f"{verdict.score:g}"})
    return [*outputs, new_output("stream", name="stdout", text=note), points]


def _error(name: str, message: str) -> NotebookNode:
    return new_output("error", ename=name, evalue=message, traceback=[f"{name}: {message}"])


class _Run:
    """A child and the steps that brought it to where it is, so that a lost one can be replaced."""

    def __init__(self, declarations: Notebook, seed: str, files: Mapping[str, bytes], terms: Terms) -> None:
        self.declarations, self.seed = declarations, seed
        self._files, self._seconds = files, terms.seconds
        self._figures = terms.figures or bool(declarations.written)  # a person reads those that have a text
        self.plain_left, self._replay_left, self._room = PLAIN_SECONDS, REPLAY_SECONDS, ROOM
        self._kills_left = ATTEMPTS  # in replays
        self.steps: list[dict[str, Any]] = []
        self.judged: list[Exercise] = []
        self._child = self._start()

    def __enter__(self) -> "_Run":
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(wait=False)

    @property
    def layers(self) -> tuple[str, ...]:
        return self._child.layers

    def _start(self) -> Child:
        """A child that is ready; raises NoStart where each is lost before: no fault of what it is to run."""
        for _ in range(ATTEMPTS):
            with suppress(Lost, NoStart):
                return Child(self._files, self._figures)
        raise NoStart("the processes that student code is to run in are lost before they are ready")

    def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """One request to the child, remembered for a replay unless it only looks."""
        request = {"do": do, **fields}
        reply = self._child.ask(self._seconds, **request)
        if do != "observe":
            self.steps.append(request)
        return reply

    def run(self, do: str, **fields: Any) -> dict[str, Any]:
        """One request that runs a cell; raises Lost for a reply that no shell sends."""
        reply = self.ask(do, **fields)
        error = reply.get("error", "")
        if not isinstance(reply.get("outputs"), list) or not (error is None or _is_described(error)):
            self.steps.pop()
            raise Lost("it meddled with the grading")
        return reply

    def unkilled(self, act: Callable[[], Reached]) -> Reached:
        """What `act` comes to, tried again where the child is killed from outside: nothing it ran did that.

        Raises Lost where it is lost otherwise, or too often; then there is a new child as well.
        """
        for attempt in range(1, ATTEMPTS + 1):
            kept = len(self.steps)
            try:
                return act()
            except Lost as lost:
                del self.steps[kept:]
                self.restart()
                if attempt == ATTEMPTS or not isinstance(lost, Killed):
                    raise
        raise AssertionError("unreachable")

    def outputs(self, reply: Mapping[str, Any]) -> list[NotebookNode]:
        """What a cell has put out, as a notebook's; all cells together have so much room."""
        found = _outputs(reply["outputs"])
        self._room -= sum(len(str(one)) for one in found)
        if self._room >= 0 or not found:
            return found
        return [new_output("stream", text="(left out: the notebook's outputs are too large)\n")]

    def put(self, code: str, instead: Exercise | None = None) -> None:
        """Runs code of the course, in the place of an answer that has had its verdict.

        Where that does not go after what the student has run, it goes on after the references alone.
        """
        for _ in range(ATTEMPTS):
            try:
                self.ask("put", source=code, instead=instead and instead.id)
                return
            except Lost:
                self.restart()
        self.steps = self._course_steps()  # this code is among them
        self.restart()

    def restart(self) -> None:
        """A new child, brought to where the lost one was.

        A step that it dies of is left out, an answer's place is taken by the reference. Where that takes too
        long, all that the student ran is left out, and it goes on after the references.
        """
        while not self._is_replayed():
            if self._replay_left <= 0:
                self.steps = self._course_steps()

    def _is_replayed(self) -> bool:
        self._child.close()
        self._child = self._start()
        for number, request in enumerate(self.steps):
            if self._replay_left <= 0 and request["do"] != "put":
                return False
            begun = time.monotonic()
            try:
                self._child.ask(self._seconds, **request)
            except Lost as lost:
                self._kills_left -= isinstance(lost, Killed)
                if not isinstance(lost, Killed) or self._kills_left < 0:
                    self.steps[number : number + 1] = self._in_place_of(request)
                return False
            finally:
                self._replay_left -= time.monotonic() - begun
        return True

    def _in_place_of(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """What stands for a step that has been left out."""
        is_answer = request["do"] == "answer"
        return _reference_steps(self.declarations.exercise(request["to"])) if is_answer else []

    def _course_steps(self) -> list[dict[str, Any]]:
        """What the notebook gives, and a reference in the place of every answer so far."""
        answers = [step for one in self.judged for step in _reference_steps(one)]
        return [{"do": "put", "source": self.declarations.given}, *answers]


def _reference_steps(exercise: Exercise) -> list[dict[str, Any]]:
    """An exercise's reference, put to use."""
    return [{"do": "put", "source": code} for code in (exercise.reference, exercise.attach)]
