"""What an instructor is told, as text: how far a class has come, what became of it, its grade table."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .classroom import Progress
from .course import ASSIGNMENTS
from .gradebook import Change, Score

CENT = 0.005  # scores are kept to two digits


def grade_table(scores: Mapping[str, Mapping[str, Score]], failures: Mapping[str, Mapping[str, str]]) -> str:
    """A line a student, a column an assignment, and below it why a submission has no score.

    Both arguments go by student and assignment. `+` marks what a person has yet to mark.
    """
    head = ["student", *(one.name.split("-")[0] for one in ASSIGNMENTS), "total"]
    points = ["of", *(str(one.points) for one in ASSIGNMENTS), str(sum(one.points for one in ASSIGNMENTS))]
    lines, waiting = [], 0
    for student in sorted({*scores, *failures}):
        failed = failures.get(student, {})
        graded = {name: score for name, score in scores.get(student, {}).items() if name not in failed}
        lines.append([student, *_cells(graded, failed)])
        waiting += sum(score.to_mark for score in graded.values())
    return "\n".join(
        [
            *_aligned([head, points, *lines]),
            "",
            f"+  a written answer waits to be marked: {waiting} in all",
            "-  nothing handed in",
            *(f"failed  {one}, {name}: {why}" for one, row in failures.items() for name, why in row.items()),
        ]
    )


def progress_line(progress: Progress) -> str:
    """How far a class has come, in one line."""
    left = progress.seconds_left
    rest = f", {_duration(left)} left" if progress.done < progress.to_grade and left != float("inf") else ""
    return f"{progress.done:,} of {progress.to_grade:,} graded, {progress.rate:.1f} a second{rest}"


def summary(progress: Progress, seconds: float) -> str:
    """What became of a class: counts, what a person has to know, and each submission without points."""
    lines = [f"{progress.graded:,} submissions graded in {_duration(seconds)}"]
    if progress.skipped:
        hint = "by the run that was stopped" if progress.regrading else "--regrade grades them again"
        lines.append(f"{progress.skipped:,} were graded before ({hint})")
    if progress.to_mark:
        lines.append(f"{progress.to_mark:,} written answers wait to be marked, in Formgrader")
    if progress.graded:
        lines.append(f"confined by: {', '.join(progress.layers) or 'nothing'}")
    lines += _listed("could not be read, and got 0 points", progress.unreadable)
    lines += _listed("could not be graded; the same command tries again", progress.failed)
    said = {key: f"its timestamp.txt says {text!r}" for key, text in progress.untimed.items()}
    lines += _listed("handed in at an unknown time, graded as if it were in time", said)
    lines += _listed("handed in files beside the notebook that are not kept with it", progress.left_out)
    return "\n".join(lines)


def as_json(progress: Progress, seconds: float, code: int) -> dict[str, Any]:
    """The same for programs."""

    def listed(reasons: Mapping[tuple[str, str], str]) -> list[dict[str, str]]:
        return [{"student": key[1], "assignment": key[0], "reason": why} for key, why in reasons.items()]

    return {
        "code": code,
        "graded": progress.graded,
        "skipped": progress.skipped,
        "to_mark": progress.to_mark,
        "seconds": round(seconds, 3),
        "layers": list(progress.layers),
        "unreadable": listed(progress.unreadable),
        "failed": listed(progress.failed),
        "untimed": listed(progress.untimed),
        "left_out": listed(progress.left_out),
        "changes": [asdict(one) for one in progress.changes if _differs(one)],
    }


def changes(progress: Progress) -> str:
    """Whose scores changed when they were graded again."""
    changed = [one for one in progress.changes if _differs(one)]
    lines = [f"{len(changed):,} of {len(progress.changes):,} scores changed"]
    lines += [f"  {one.student}, {one.assignment}: {one.before:g} -> {one.after:g}" for one in changed]
    return "\n".join(lines)


def _differs(one: Change) -> bool:
    return abs(one.after - one.before) > CENT


def pages_made(made: int, failed: Mapping[tuple[str, str], str], seconds: float) -> str:
    """How many feedback pages there are now, and who has none."""
    return "\n".join([f"{made:,} feedback pages in {_duration(seconds)}", *_listed("have none", failed)])


def _listed(what: str, reasons: Mapping[tuple[str, str], str]) -> list[str]:
    if not reasons:
        return []
    rows = [f"  {student}, {assignment}: {why}" for (assignment, student), why in sorted(reasons.items())]
    return [f"{len(reasons):,} {what}:", *rows]


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _cells(graded: Mapping[str, Score], failed: Mapping[str, str]) -> list[str]:
    cells = ["failed" if one.name in failed else _cell(graded.get(one.name)) for one in ASSIGNMENTS]
    return [*cells, f"{sum(score.score for score in graded.values()):.2f}"]


def _cell(score: Score | None) -> str:
    if score is None:
        return "-"
    return f"{score.score:.2f}{'+' if score.to_mark else ''}"


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            text.ljust(width) if not number else text.rjust(width) for number, (text, width) in enumerate(row)
        )
        for row in (list(zip(line, widths, strict=True)) for line in lines)
    ]
