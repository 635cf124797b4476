"""docs/lesson-map.md points to sections that exist, in every notebook."""

import re

from autograder.course import ASSIGNMENTS, assignment, find_course

COURSE = find_course()
MAP = (COURSE.root / "docs" / "lesson-map.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in MAP.splitlines()
    if re.match(r"\| .* \| 0\d-", line)
]


def test_every_row_names_a_section_of_its_notebook():
    for what, name, section in ROWS:
        text = COURSE.text(assignment(name)).read_text(encoding="utf-8")
        assert re.search(rf"^#+ {re.escape(section)}$", text, re.MULTILINE), (what, name, section)


def test_every_notebook_and_every_numbered_question_has_its_place():
    assert {name for _, name, _ in ROWS} == {one.name for one in ASSIGNMENTS}
    for kind, count in (("check yourself", 5), ("try this", 6)):
        for number in range(1, count + 1):
            assert re.search(rf"{kind} (\d and )?{number}\b", MAP), (kind, number)


def test_every_notebook_opens_and_closes_as_a_reader_expects():
    for one in ASSIGNMENTS:
        text = COURSE.text(one).read_text(encoding="utf-8")
        first = text.split("```{code-cell}", 1)[0]
        assert "**After this notebook you can**" in first
        assert re.search(r"\*\*What it takes:\*\* about [^.]*(minutes|hours)", first)
        headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        closing = headings[headings.index("What to keep") :]
        assert closing[:1] == ["What to keep"]
        assert {"Common mistakes", "Check yourself", "Read next"} <= set(closing)
