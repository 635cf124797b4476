"""The class's grade table, as text."""

from collections.abc import Mapping, Sequence

from .course import ASSIGNMENTS
from .gradebook import Score


def grade_table(scores: Mapping[str, Mapping[str, Score]]) -> str:
    """A line a student, a column an assignment; `+` marks answers that a person has yet to mark."""
    head = ["student", *(one.name.split("-")[0] for one in ASSIGNMENTS), "total"]
    points = ["of", *(str(one.points) for one in ASSIGNMENTS), str(sum(one.points for one in ASSIGNMENTS))]
    lines = [[student, *_cells(row)] for student, row in sorted(scores.items())]
    return "\n".join([*_aligned([head, points, *lines]), "", "+ a written answer waits to be marked"])


def _cells(row: Mapping[str, Score]) -> list[str]:
    cells = [_cell(row.get(one.name)) for one in ASSIGNMENTS]
    return [*cells, f"{sum(score.score for score in row.values()):.2f}"]


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
