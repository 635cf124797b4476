"""The class's grade table, as text."""

from collections.abc import Mapping, Sequence

from .course import ASSIGNMENTS
from .gradebook import Score


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
