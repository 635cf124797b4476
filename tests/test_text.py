"""Text <-> notebook: nothing is lost, ids are stable, every slip is named."""

import pytest

from autograder.course import ASSIGNMENTS, find_course
from autograder.text import TEXT_METADATA, TextError, load_text, parse_role, read_text, role_line, write_text

COURSE = find_course()

HEAD = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3 (ipykernel)
  language: python
  name: python3
---

"""
BODY = """# A title

Some prose with $x^2$.

+++

More prose.

```{code-cell}
:nbgrader: solution value-mul

def multiply(self, other):
    ### BEGIN SOLUTION
    return 1
    ### END SOLUTION
```

```{code-cell}
:nbgrader: test value-mul 2

assert True
```

+++ {"nbgrader": "written descent-explain 1"}

### BEGIN SOLUTION
Because.
### END SOLUTION
"""


@pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda one: one.name)
def test_the_course_s_texts_come_back_byte_for_byte(assignment):
    text = COURSE.text(assignment).read_text(encoding="utf-8")
    assert write_text(read_text(text, "here"), "here") == text


def test_metadata_is_filled_in():
    cells = read_text(HEAD + BODY, "a.md").cells
    kinds = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]
    assert kinds == [None, None, "value-mul", "value-mul-test", "descent-explain"]
    test = cells[3].metadata["nbgrader"]
    assert (test["points"], test["grade"], test["locked"], test["solution"]) == (2, True, True, False)
    written = cells[4].metadata["nbgrader"]
    assert (written["points"], written["grade"], written["locked"], written["solution"]) == (
        1,
        True,
        False,
        True,
    )


@pytest.mark.parametrize("number", range(6))
def test_a_new_cell_changes_no_other_cell_s_id(number):
    pieces = [
        "# A title",
        "Other prose.",
        "```{code-cell}\nx = 1\n```",
        "Third.",
        "```{code-cell}\ny = 1\n```",
    ]

    def ids(cells):
        text = HEAD + "\n\n+++\n\n".join(cells) + "\n"
        text = text.replace("+++\n\n```", "```").replace("```\n\n+++", "```")
        return [cell.id for cell in read_text(text, "a.md").cells]

    grown = ids([*pieces[:number], "A new cell.", *pieces[number:]])
    assert [one for one in grown if one not in set(grown) - set(ids(pieces))] == ids(pieces)


SLIPS = {
    "points in words": ("test value-mul 2", "test value-mul two", "whole number"),
    "no points": ("test value-mul 2", "test value-mul", "not of the form"),
    "unknown role": ("solution value-mul", "answer value-mul", "not of the form"),
    "capital letters": ("solution value-mul", "solution Value-Mul", "is no id"),
    "the id of another cell": ("written descent-explain 1", "written value-mul 1", "the id 'value-mul'"),
    "the same prose twice": ("More prose.", "# A title\n\nSome prose with $x^2$.", "the same text"),
    "unknown metadata": (":nbgrader: test value-mul 2", ":tags: [x]", "unknown metadata tags"),
    "a missing blank line": ("2\n\nassert True", "2\nassert True", "would come back as"),
    "a break too many": ("More prose.\n", "More prose.\n\n+++\n\n+++\n", "would come back as"),
    "an empty cell": ("More prose.\n", "More prose.\n\n```{code-cell}\n```\n", "the cell is empty"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_an_error_that_names_file_and_place(slip):
    old, new, complaint = SLIPS[slip]
    assert old in BODY
    with pytest.raises(TextError) as error:
        read_text(HEAD + BODY.replace(old, new), "notebooks/a/b.md")
    assert complaint in str(error.value)
    assert "notebooks/a/b.md, " in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("line", ["given setup", "solution value-mul", "test value-mul 2", "written a-b 1"])
def test_the_one_line_form_says_all(line):
    assert role_line(parse_role(line, ""), "") == line


def test_metadata_without_a_one_line_form_is_refused():
    task = {"grade": False, "solution": False, "locked": True, "task": True, "grade_id": "t", "points": 1}
    with pytest.raises(TextError, match=r"b\.ipynb, cell 3: .*no place"):
        role_line(task, "b.ipynb, cell 3")
    test = {
        "grade": True,
        "solution": False,
        "locked": True,
        "task": False,
        "grade_id": "cell-7f2",
        "points": 1,
    }
    with pytest.raises(TextError, match="must be its exercise's and '-test'"):
        role_line(test, "b.ipynb, cell 3")


def test_a_file_that_is_missing_or_no_utf_8_is_named(tmp_path):
    with pytest.raises(TextError, match=r"^a\.md is missing"):
        load_text(tmp_path / "a.md", "a.md")
    (tmp_path / "b.md").write_bytes(HEAD.encode() + b"caf\xe9\n")
    with pytest.raises(TextError, match=rf"^b\.md: no UTF-8 at byte {len(HEAD) + 3}"):
        load_text(tmp_path / "b.md", "b.md")


def test_the_head_of_the_text_is_what_jupytext_needs():
    for key in TEXT_METADATA:
        assert f"\n{key}:\n" in HEAD
