"""The student's notebooks with the source's answers in their cells."""

import json
from collections.abc import Mapping
from typing import Any

from autograder.course import Assignment, Course


def answers_of(course: Course, one: Assignment) -> dict[str, str]:
    """The instructor's answers by cell, without the marks around them."""
    source = json.loads((course.source / one.name / one.file).read_text(encoding="utf-8"))
    return {
        cell["id"]: _without_marks("".join(cell["source"]))
        for cell in source["cells"]
        if cell["metadata"].get("nbgrader", {}).get("solution")
    }


def solved(course: Course, one: Assignment, others: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The student's notebook of `one` when everything is answered: as in the source, but for `others`."""
    notebook = json.loads(course.released(one).read_text(encoding="utf-8"))
    answers = answers_of(course, one) | dict(others or {})
    for cell in notebook["cells"]:
        if cell["id"] in answers:
            cell["source"] = answers.pop(cell["id"])
    assert not answers, f"{one.name} lacks the cells {', '.join(answers)}"
    return notebook


def _without_marks(source: str) -> str:
    return "\n".join(line for line in source.splitlines() if "### " not in line or " SOLUTION" not in line)
