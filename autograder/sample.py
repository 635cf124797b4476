"""A class of made submissions, written from the released notebooks in nbgrader's layout.

DIR/class.json                               who handed in what
DIR/<student>/<assignment>/<notebook>.ipynb  and timestamp.txt, and the files beside it
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from random import Random
from typing import Any

from .course import ASSIGNMENTS, Assignment, Course, CourseError
from .damage import DAMAGES, dump, find_cell, grade_id, set_source
from .exercise import Exercise, Notebook
from .exercises import declared

UNANSWERED = "unanswered"
REFERENCE = "reference"
FIRST_DAY = datetime(2025, 10, 6, 9)
WEEK_MINUTES = 7 * 24 * 60
TIMESTAMP = "%Y-%m-%d %H:%M:%S.%f UTC"  # nbgrader's form

# What students write where words are asked for; an exercise without an entry gets the last.
SENTENCES: dict[str, Sequence[str]] = {
    "descent-explain": (
        "The noisy points do not lie on one line, so no line has a loss of zero. "
        "Uncleared gradients add up over the steps, and the updates overshoot.",
        "There is no line through all four points, some error is always left over. When the gradients "
        "are not cleared, each step also repeats all the earlier ones, so the loss swings.",
    ),
    "rate-explain": (
        "At 0.24 the loss explodes and at 0.238 it grows too, only slowly, because both rates are above "
        "2 / 8.405 = 0.23795.",
        "The limit is 2 divided by the largest curvature. Both rates lie above it, 0.238 by very little, "
        "so there the loss grows by less than a tenth of a percent a step.",
    ),
    "": (
        "The numbers above show it: the smaller the step, the closer the result.",
        "I compared both cases by hand, and they agree with what the text says.",
    ),
}


@dataclass(frozen=True)
class Plan:
    """What one student hands in for one assignment.

    `answers` names, for each exercise, the declared answer that stands there: "reference",
    "variant NAME", "mistake ID", for a written one "text N", or "unanswered". `damage` is a key of
    DAMAGES or None, `damaged` the exercise that it hits.
    """

    kind: str
    answers: Mapping[str, str] = field(default_factory=dict)
    damage: str | None = None
    damaged: str | None = None


def make_class(course: Course, folder: Path, students: int, seed: int) -> dict[str, dict[str, Plan]]:
    """Writes a class of made submissions into `folder`; returns each student's plans.

    The same `students` and `seed` give the same bytes. Assignments that nothing is declared for
    are left out. Raises CourseError where `students` is below 1, where `folder` holds something
    already, and where a declared assignment is not released as it is declared.
    """
    if students < 1:
        raise CourseError(f"--students {students}: a class has at least one student")
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise CourseError(f"{folder} is not empty: name a folder that is new or empty")
    released = {one: Release.read(course, one) for one in ASSIGNMENTS if declared(one).points}
    plans = plan_class([declared(one) for one in released], students, seed)
    for number, (one, release) in enumerate(released.items()):
        for student, theirs in plans.items():
            random = Random(f"{seed}/{student}/{one.name}/time")
            handed_in = FIRST_DAY + timedelta(minutes=number * WEEK_MINUTES + random.randrange(WEEK_MINUTES))
            files = release.submission(theirs[one.name])
            files["timestamp.txt"] = handed_in.strftime(TIMESTAMP).encode()
            for name, data in files.items():
                path = folder / student / one.name / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    manifest = {
        student: {assignment: asdict(plan) for assignment, plan in theirs.items()}
        for student, theirs in plans.items()
    }
    text = json.dumps({"seed": seed, "students": manifest}, indent=1) + "\n"
    (folder / "class.json").write_text(text, encoding="utf-8")
    return plans


def student_ids(count: int) -> list[str]:
    """Made ids; the second has a dot in it, the third a space."""
    odd = {2: "student.02", 3: "student 03"}
    return [odd.get(number, f"student-{number:02}") for number in range(1, count + 1)]


def plan_class(notebooks: Sequence[Notebook], students: int, seed: int) -> dict[str, dict[str, Plan]]:
    """Which student hands in what: the kinds are dealt out, then shuffled.

    A class hands in as many of an exercise's mistakes as it has room for: one a student, except
    for the four who stand for the other kinds. The next seed begins with the next mistake, so
    that classes too small for all of them have them in turn.
    """
    ids = student_ids(students)
    plans: dict[str, dict[str, Plan]] = {student: {} for student in ids}
    damages = _share_damages(notebooks)
    for notebook in notebooks:
        random = Random(f"{seed}/{notebook.assignment}")
        deal = _Deal(notebook, damages[notebook.assignment], random, first=seed)
        dealt = list(islice(_plans(deal), students))
        random.shuffle(dealt)
        for student, plan in zip(ids, dealt, strict=True):
            plans[student][notebook.assignment] = plan
    return plans


def _share_damages(notebooks: Sequence[Notebook]) -> dict[str, list[str]]:
    """Which damages each notebook gets: one each, the others where mistakes leave most room."""
    shares: dict[str, list[str]] = {one.assignment: [] for one in notebooks}
    taken = {
        one.assignment: max((len(exercise.mistakes) for exercise in one.exercises), default=0)
        for one in notebooks
    }
    for damage in DAMAGES if shares else ():
        roomiest = min(shares, key=lambda name: (bool(shares[name]), taken[name]))
        shares[roomiest].append(damage)
        taken[roomiest] += 1
    return shares


def answers_to(exercise: Exercise) -> dict[str, str]:
    """The declared answers of an exercise, by the names that a plan gives them."""
    return {
        REFERENCE: exercise.reference,
        **{f"variant {name}": code for name, code in exercise.variants.items()},
        **{f"mistake {one.id}": one.code for one in exercise.mistakes},
    }


def _ids(notebook: Notebook) -> list[str]:
    return [one.id for one in notebook.exercises] + [one.id for one in notebook.written]


def sentences(written: str) -> Sequence[str]:
    """What students write in answer to `written`."""
    return SENTENCES.get(written, SENTENCES[""])


@dataclass(frozen=True)
class _Deal:
    """Dealing out the answers to one notebook: what was handed in least is handed in next."""

    notebook: Notebook
    damages: Sequence[str]
    random: Random
    first: int = 0  # which of an exercise's mistakes is handed in first
    count: Counter[tuple[str, str]] = field(default_factory=Counter)

    def right(self) -> dict[str, list[str]]:
        """The names of all right answers to each exercise."""
        declared = {one.id: [*answers_to(one)] for one in self.notebook.exercises}
        right = {
            key: [one for one in labels if not one.startswith("mistake ")] for key, labels in declared.items()
        }
        return right | self.texts()

    def wrong(self) -> dict[str, list[str]]:
        """The names of all known mistakes in each exercise; written answers are for people to mark."""
        slips = {one.id: self.mistakes(one) or [UNANSWERED] for one in self.notebook.exercises}
        return slips | self.texts()

    def mistakes(self, exercise: Exercise) -> list[str]:
        """The names of an exercise's known mistakes, in the order in which they are handed in."""
        labels = [f"mistake {slip.id}" for slip in exercise.mistakes]
        turn = self.first % max(1, len(labels))
        return labels[turn:] + labels[:turn]

    def none(self) -> dict[str, list[str]]:
        """Nothing answered."""
        return {name: [UNANSWERED] for name in _ids(self.notebook)}

    def texts(self) -> dict[str, list[str]]:
        return {
            one.id: [f"text {number}" for number in range(len(sentences(one.id)))]
            for one in self.notebook.written
        }

    def answers(self, choice: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """For each exercise, that of the answers in `choice` which was handed in least."""
        chosen = {key: min(labels, key=lambda one: self.count[key, one]) for key, labels in choice.items()}
        self.count.update(chosen.items())
        return chosen

    def outstanding(self, choice: Mapping[str, Sequence[str]]) -> bool:
        """Whether some of the answers in `choice` were never handed in."""
        return any(not self.count[key, label] for key, labels in choice.items() for label in labels)


def _all_right(deal: _Deal) -> Iterator[Plan]:
    """Every declared right answer."""
    yield Plan("right", deal.answers(deal.right()))
    while deal.outstanding(deal.right()):
        yield Plan("right", deal.answers(deal.right()))


def _all_wrong(deal: _Deal) -> Iterator[Plan]:
    """Every known mistake, one in each exercise at a time."""
    while deal.outstanding(deal.wrong()):
        yield Plan("mistakes", deal.answers(deal.wrong()))


def _partly(deal: _Deal) -> Iterator[Plan]:
    """At least one exercise right, and one not answered or with a known mistake."""
    ways = [deal.right(), deal.none(), deal.wrong()]
    for row in range(2):
        names = [one.id for one in deal.notebook.exercises]
        deal.random.shuffle(names)
        names += [one.id for one in deal.notebook.written]
        chosen = [ways[0], ways[1 + row], *deal.random.choices(ways, k=len(names))]
        choice = {name: way[name] for name, way in zip(names, chosen, strict=False)}
        yield Plan("partly", deal.answers({name: choice[name] for name in _ids(deal.notebook)}))


def _damaged(deal: _Deal) -> Iterator[Plan]:
    """Each of the damages once, in a notebook that is right for the rest."""
    functions = [one.id for one in deal.notebook.exercises if "def " in one.reference]
    deal.random.shuffle(functions)
    for damage, exercise in zip(deal.damages, cycle(functions), strict=False):
        yield Plan("damaged", deal.answers(deal.right() | {exercise: [REFERENCE]}), damage, exercise)


def _untouched(deal: _Deal) -> Iterator[Plan]:
    """Handed in as it was fetched."""
    yield Plan("untouched", deal.answers(deal.none()))


KINDS: dict[str, Callable[[_Deal], Iterator[Plan]]] = {
    "right": _all_right,
    "mistakes": _all_wrong,
    "partly": _partly,
    "damaged": _damaged,
    "untouched": _untouched,
}
URGENT = ("mistakes", "damaged", "right", "partly", "untouched")  # what must not be missing in a class
SPARE = ("partly", "right")  # what the rest of a large class hands in


def _plans(deal: _Deal) -> Iterator[Plan]:
    """Plans without end: one of every kind, then all of every kind, then the spare ones."""
    kinds = {name: kind(deal) for name, kind in KINDS.items()}
    for kind in kinds.values():
        yield from islice(kind, 1)
    for name in URGENT:
        yield from kinds[name]
    for name in cycle(SPARE):
        yield from KINDS[name](deal)


@dataclass(frozen=True)
class Release:
    """One released assignment: its notebook's bytes and the files beside it."""

    assignment: Assignment
    notebook: bytes
    beside: Mapping[str, bytes]

    @classmethod
    def read(cls, course: Course, assignment: Assignment) -> "Release":
        """Reads release/; CourseError where a file, or the cell of a declared exercise, is missing."""
        folder = course.release / assignment.name
        path = folder / assignment.file
        remedy = f"run 'autograder build {assignment.name}' first"
        if not path.is_file():
            raise CourseError(f"{path} is missing: {remedy}")
        files = {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file()}
        release = cls(assignment, files.pop(assignment.file), files)
        try:
            notebook = json.loads(release.notebook)
            cells = {grade_id(cell) for cell in notebook["cells"]}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CourseError(f"{path} is no notebook: {remedy}") from None
        missing = [name for name in _ids(declared(assignment)) if name not in cells]
        if missing:
            raise CourseError(f"{path} lacks {', '.join(missing)}: {remedy}")
        return release

    def submission(self, plan: Plan) -> dict[str, bytes]:
        """The files that a student with this plan hands in, by name."""
        data = self.answered(plan.answers)
        files = dict(self.beside)
        if plan.damage is None or plan.damaged is None:
            return {**files, self.assignment.file: data}
        damage = DAMAGES[plan.damage]
        name = damage.file.format(name=self.assignment.notebook)
        return {**files, **damage.also, name: damage.apply(data, plan.damaged)}

    def answered(self, answers: Mapping[str, str]) -> bytes:
        """The notebook with the answers of those names in it; what is not named stays unanswered."""
        notebook: dict[str, Any] = json.loads(self.notebook)
        there = declared(self.assignment)
        for exercise in there.exercises:
            label = answers.get(exercise.id, UNANSWERED)
            if label != UNANSWERED:
                set_source(find_cell(notebook, exercise.id), answers_to(exercise)[label].strip("\n"))
        for written in there.written:
            label = answers.get(written.id, UNANSWERED)
            if label != UNANSWERED:
                number = int(label.removeprefix("text "))
                set_source(find_cell(notebook, written.id), sentences(written.id)[number])
        return dump(notebook)
