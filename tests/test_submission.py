"""Repair: whatever was done to a submission, the released cells come back, and the answers stay."""

import copy
import json
from pathlib import Path

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.course import ASSIGNMENTS, find_course
from autograder.damage import DAMAGES, find_cell, set_source, source_of
from autograder.exercises import declared
from autograder.sample import Release
from autograder.submission import LIMIT, bound_names, pick, repair

# A small notebook of the same kinds of cells as the course's: given, text, functions, a value, words.


def nbgrader(name, **flags):
    flags = {"grade": False, "solution": False, "locked": False, "task": False} | flags
    return {"nbgrader": {"grade_id": name, "schema_version": 3, **flags}}


def cell(kind, name, source, metadata=None):
    one = {"cell_type": kind, "id": name, "metadata": metadata or {}, "source": source}
    return one | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def solution(name, source):
    return cell("code", name, source, nbgrader(name, solution=True))


def graded(name, points, source):
    return cell("code", name, source, nbgrader(name, grade=True, locked=True, points=points))


STUB = "raise NotImplementedError()"
CELLS = [
    cell("markdown", "c-top", "# A title"),
    cell("code", "setup", "import math", nbgrader("setup", locked=True)),
    cell("markdown", "c-double", "Double it."),
    solution("double", f'def double(x):\n    """Twice x."""\n    {STUB}'),
    graded("double-test", 2, "assert double(1) == 2"),
    cell("code", "c-show", "print('between')"),
    solution("half", f"def half(x):\n    {STUB}"),
    graded("half-test", 1, "assert half(2) == 1"),
    cell("markdown", "c-value", "Now a number."),
    solution("answer", STUB),
    graded("answer-test", 1, "assert answer == 42"),
    cell("markdown", "c-why", "Why?"),
    cell("markdown", "why", "*Write here.*", nbgrader("why", solution=True, grade=True, points=1)),
]
ANSWERS = {
    "double": 'def double(x):\n    """Twice x."""\n    twice = 2 * x\n    return twice',
    "half": "def half(x):\n    return x / 2",
    "answer": "answer = 6 * 7",
    "why": "Because six times seven is forty-two.",
}
NAMES = {"answer": ["answer"]}
GRADED = [one["id"] for one in CELLS if "nbgrader" in one["metadata"]]
LOCKED = [name for name in GRADED if name not in ANSWERS]


def notebook(cells):
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": copy.deepcopy(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


RELEASED = nbformat.reads(json.dumps(notebook(CELLS)), as_version=4)


def answered():
    """The notebook with all the answers in it, to be spoiled."""
    full = notebook(CELLS)
    for name, source in ANSWERS.items():
        find_cell(full, name)["source"] = source
    return full


def mend(raw, names=NAMES):
    """Repairs; asserts on the way all that holds of every repair."""
    data = raw if isinstance(raw, bytes) else json.dumps(raw).encode()
    mended = repair(data, RELEASED, names)
    assert_released(mended.notebook, RELEASED)
    again = repair(nbformat.writes(mended.notebook).encode(), RELEASED, names)
    assert again.notes == ()
    assert again.notebook == mended.notebook
    return mended


def assert_released(mended, released):
    """A valid notebook whose nbgrader cells are the released ones, in their order."""
    nbformat.validate(mended)
    assert mended.nbformat_minor == 5
    assert mended.metadata == released.metadata
    ours, theirs = ([one for one in book.cells if "nbgrader" in one.metadata] for book in (mended, released))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.id, a.cell_type, a.metadata) == (b.id, b.cell_type, b.metadata)
        assert a.metadata.nbgrader.solution or a.source == b.source


def source(mended, name):
    return next(one.source for one in mended.notebook.cells if one.id == name)


def answers(mended):
    return {name: source(mended, name) for name in ANSWERS}


def order(mended):
    return [one.id for one in mended.notebook.cells]


def without(raw, name):
    raw["cells"].remove(find_cell(raw, name))
    return raw


def at(raw, name):
    return raw["cells"].index(find_cell(raw, name))


# Nothing wrong


def test_an_undamaged_submission_keeps_every_source_and_gets_no_note():
    full = answered()
    full["cells"].insert(4, cell("code", "mine", "double(7)"))
    full["cells"].insert(5, cell("markdown", "mine-too", "I *think* so."))
    full["cells"][5]["attachments"] = {"a.png": {"image/png": "AAAA"}}
    find_cell(full, "double-test")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x"}]
    full["cells"][7]["source"] = "print('changed, as one may')"
    mended = mend(full)
    assert mended.notes == ()
    assert mended.reason is None
    assert [(one.id, one.cell_type, one.source) for one in mended.notebook.cells] == [
        (one["id"], one["cell_type"], source_of(one)) for one in full["cells"]
    ]
    assert mended.notebook.cells[5].attachments == full["cells"][5]["attachments"]
    assert all(not one.outputs for one in mended.notebook.cells if one.cell_type == "code")


def test_the_released_notebook_is_left_as_it_was():
    before = copy.deepcopy(RELEASED)
    mended = mend(answered())
    mended.notebook.cells[1].metadata.nbgrader.points = 99
    mended.notebook.metadata.clear()
    repair(b"", RELEASED).notebook.cells.clear()
    assert before == RELEASED


# The table of damages, on the course's own notebooks

COURSE = find_course(Path(__file__).parent)
FIRST = Release.read(COURSE, ASSIGNMENTS[0])
FULL = FIRST.answered({one.id: "reference" for one in declared(FIRST.assignment).exercises})
EXERCISE = "derivative-gradient"


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_submission_ends_as_the_table_says(name):
    damage = DAMAGES[name]
    released = nbformat.reads(FIRST.notebook.decode(), as_version=4)
    data = damage.apply(FULL, EXERCISE)
    mended = repair(data, released)
    assert_released(mended.notebook, released)
    again = repair(nbformat.writes(mended.notebook).encode(), released)
    assert (again.notebook, again.notes) == (mended.notebook, ())
    assert bool(mended.notes) == (damage.told == "repair")
    right, stubs = json.loads(FULL), json.loads(FIRST.notebook)
    for one in declared(FIRST.assignment).exercises:
        got = next(cell.source for cell in mended.notebook.cells if cell.id == one.id)
        kept, stub = (source_of(find_cell(book, one.id)) for book in (right, stubs))
        if damage.loses == "everything":
            assert got == stub
            assert mended.reason
        elif one.id != EXERCISE or damage.told in ("pick", ""):
            assert got == kept or "\n" + kept in got  # something above it is left there
        elif damage.told == "run":
            assert got == source_of(find_cell(json.loads(data), one.id))
        else:
            assert got == (stub if damage.loses == "exercise" else kept)


# Files


READABLE = {
    "UTF-8 with a byte order mark": (lambda text: b"\xef\xbb\xbf" + text.encode(), ""),
    "UTF-16": (lambda text: text.encode("utf-16"), "UTF-16"),
    "UTF-16, big end first": (lambda text: b"\xfe\xff" + text.encode("utf-16-be"), "UTF-16"),
    "UTF-16 without a mark": (lambda text: text.encode("utf-16-le"), "UTF-16"),
    "UTF-16 without a mark, big end first": (lambda text: text.encode("utf-16-be"), "UTF-16"),
    "UTF-32": (lambda text: text.encode("utf-32"), "UTF-32"),
    "Latin-1": (lambda text: text.encode("latin-1"), "UTF-8"),
    "empty lines before": (lambda text: b"\r\n\n  " + text.encode(), ""),
    "empty lines after": (lambda text: text.encode() + b"\r\n\n ", ""),
    "zero bytes after the end": (lambda text: text.encode() + bytes(9), "Zero bytes"),
    "something after the end": (lambda text: text.encode() + b'\n"cells": []}', "after the notebook's end"),
    "a tab within a text": (lambda text: text.replace('"# A title"', '"# A\ttitle"').encode(), ""),
    "the same key twice": (lambda text: b'{"cells": [], "nbformat": 3,' + text.encode()[1:], ""),
    "line ends of Windows": (lambda text: text.replace("\n", "\r\n").encode(), ""),
}


@pytest.mark.parametrize("name", READABLE)
def test_a_file_in_another_form_is_read(name):
    form, note = READABLE[name]
    full = answered()
    find_cell(full, "why")["source"] = "Sechs mal sieben, für Zoë: déjà vu."
    mended = mend(form(json.dumps(full, ensure_ascii=False, indent=1)))
    assert mended.reason is None
    assert answers(mended) == ANSWERS | {"why": "Sechs mal sieben, für Zoë: déjà vu."}
    assert len(mended.notes) == bool(note)
    assert note in "".join(mended.notes)


def test_one_bad_byte_does_not_spoil_the_other_letters():
    full = answered()
    find_cell(full, "why")["source"] = "déjà vu, @"
    mended = mend(json.dumps(full, ensure_ascii=False).encode().replace(b"@", b"\xfc"))
    assert answers(mended)["why"] == "déjà vu, ü"


WHOLE = json.dumps(answered(), indent=1).encode()
UNREADABLE = {
    "empty": (b"", "empty"),
    "blank": (b"\xef\xbb\xbf \n", "empty"),
    "zero bytes": (bytes(4096), "empty"),
    "a web page": (b"\n<!DOCTYPE html><html>Sign in</html>", "web page"),
    "cut off in the middle": (WHOLE[: len(WHOLE) // 2], "cut off"),
    "cut off before the end": (WHOLE[:-2], "cut off"),
    "one byte": (b"{", "cut off"),
    "a text": (b"My answer is 6.", "not a notebook"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "not a notebook"),
    "a list": (b"[1, 2]", "not a notebook"),
    "another object": (b'{"a": 1}', "not a notebook"),
    "cells that are no list": (b'{"cells": {"a": 1}}', "not a notebook"),
    "worksheets that are none": (b'{"worksheets": 5}', "not a notebook"),
    "nested without end": (b'{"cells":' + b"[" * 200_000, "nested too deeply"),
    "objects without end": (b'{"cells":' * 200_000, "nested too deeply"),
    "too large": (b"{" + b" " * LIMIT, "larger than 64 MB"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_gets_the_released_notebook_and_the_reason(name):
    data, reason = UNREADABLE[name]
    mended = mend(data)
    assert reason in mended.reason
    assert mended.notes == (mended.reason,)
    assert mended.notebook == RELEASED


def test_a_notebook_of_version_3_is_read():
    full = answered()
    for one in full["cells"]:
        if one["cell_type"] == "code":
            one["input"] = one.pop("source")
        del one["id"]
    full["cells"].append({"cell_type": "heading", "level": 1, "source": ["The end"]})
    sheets = [{"cells": full["cells"][:5]}, "junk", {"cells": 7}, {"cells": full["cells"][5:]}]
    mended = mend({"worksheets": sheets, "nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}})
    assert mended.notes == ()
    assert answers(mended) == ANSWERS
    assert mended.notebook.cells[-1].source == "# The end"


@pytest.mark.parametrize("minor", range(5))
def test_a_notebook_without_cell_ids_or_kernel_needs_no_note(minor):
    full = answered()
    full |= {"nbformat_minor": minor, "metadata": {}}
    for one in full["cells"]:
        del one["id"]
    mended = mend(full)
    assert mended.notes == ()
    assert order(mended) == [one["id"] for one in CELLS]
    assert answers(mended) == ANSWERS


ODD = {
    "no metadata": lambda one: one.pop("metadata"),
    "metadata of another type": lambda one: one.update(metadata=["x"]),
    "nbgrader's metadata of another type": lambda one: one["metadata"].update(nbgrader="x"),
    "a grade id of another type": lambda one: one["metadata"].update(nbgrader={"grade_id": ["x"]}),
    "no outputs": lambda one: one.pop("outputs", None),
    "outputs of another type": lambda one: one.update(outputs=7, execution_count="x"),
    "a source in lines": lambda one: set_source(one, one["source"]),
    "unknown fields": lambda one: one.update(prompt_number=1, language="python", surprise=[None]),
    "attachments of another type": lambda one: one.update(attachments={"a": ["b"]}),
    "attachments that are no pictures": lambda one: one.update(attachments={"a": {"image/png": 5}}),
    "spaces at the ends of lines": lambda one: one.update(source=one["source"].replace("\n", " \n") + "\n\n"),
    "an id that is none": lambda one: one.update(id="what is this?"),
    "an id of another type": lambda one: one.update(id=17),
}


@pytest.mark.parametrize("name", ODD)
def test_cells_of_an_odd_form_keep_their_answers_without_a_note(name):
    full = answered()
    for one in full["cells"]:
        ODD[name](one)
    mended = mend(full)
    assert {key: plain(text) for key, text in answers(mended).items()} == ANSWERS
    assert mended.notes == ()


def plain(text):
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def test_what_is_no_cell_is_left_out_and_unknown_kinds_become_raw():
    full = answered()
    full["cells"] += [None, 7, "x", ["y"], {}, {"cell_type": "magic", "source": 5, "id": "strange"}]
    mended = mend(full)
    assert [(one.cell_type, one.source) for one in mended.notebook.cells[-2:]] == [("raw", ""), ("raw", "")]
    assert len(mended.notebook.cells) == len(CELLS) + 2


def test_half_a_surrogate_pair_and_a_huge_number_are_no_obstacle():
    full = answered()
    full["cells"].append(cell("markdown", "mine", "\ud83d"))
    data = json.dumps(full).replace('"execution_count": null', '"execution_count": 1' + "0" * 6000)
    assert mend(data.encode()).notebook.cells[-1].source == "?"


# Cells


@pytest.mark.parametrize("name", LOCKED)
def test_a_locked_cell_comes_back_in_its_place_with_a_note(name):
    deleted = mend(without(answered(), name))
    assert order(deleted) == [one["id"] for one in CELLS]
    assert deleted.notes == (f"Restored, since the cell was missing: {name}.",)

    full = answered()
    find_cell(full, name)["source"] = "pass"
    assert mend(full).notes == (
        f"Restored as released, since a cell that is not for answers was changed: {name}.",
    )


@pytest.mark.parametrize("name", ANSWERS)
def test_a_deleted_answer_is_told_and_the_stub_comes_back(name):
    mended = mend(without(answered(), name))
    assert order(mended) == [one["id"] for one in CELLS]
    assert mended.notes == (f"The answer to {name} is missing: its cell was deleted.",)
    assert answers(mended) == ANSWERS | {name: next(one["source"] for one in CELLS if one["id"] == name)}


def test_an_answer_that_was_never_given_needs_no_note():
    assert mend(notebook(CELLS)).notes == ()


@pytest.mark.parametrize("name", GRADED)
def test_a_copied_cell_counts_once(name):
    full = answered()
    full["cells"].append(copy.deepcopy(find_cell(full, name)))
    mended = mend(full)
    assert order(mended) == [one["id"] for one in CELLS]
    assert answers(mended) == ANSWERS
    assert mended.notes == (f"One copy of each was kept, where a cell stood more than once: {name}.",)


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("place", [0, 4, 13])
def test_an_unanswered_copy_does_not_replace_the_answer(name, place):
    full = answered()
    full["cells"].insert(place, copy.deepcopy(find_cell(notebook(CELLS), name)))
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert order(mended) == [one["id"] for one in CELLS]


def test_the_last_changed_copy_of_an_answer_counts_and_the_others_stay():
    full = answered()
    full["cells"].append(solution("double", "def double(x):\n    return x + x"))
    full["cells"].append(copy.deepcopy(CELLS[3]))
    mended = mend(full)
    assert source(mended, "double") == "def double(x):\n    return x + x"
    assert ANSWERS["double"] in [one.source for one in mended.notebook.cells]
    assert mended.notes == ("Of several different copies of an answer the last one counts: double.",)


def test_a_copy_used_for_trying_things_does_not_replace_the_answer():
    full = answered()
    full["cells"].insert(5, solution("double", "print(double(21))"))
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert order(mended)[3:6] == ["double", "double-test", "own-1"]
    assert mended.notebook.cells[5].source == "print(double(21))"


def test_a_changed_copy_of_a_test_stays_as_a_cell_of_ones_own():
    full = answered()
    full["cells"].insert(4, graded("double-test", 2, "assert double(5) == 10"))
    mended = mend(full)
    assert [one.source for one in mended.notebook.cells[4:6]] == [
        "assert double(5) == 10",
        "assert double(1) == 2",
    ]
    assert mended.notes == ("One copy of each was kept, where a cell stood more than once: double-test.",)


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("kind", ["markdown", "raw", "code"])
def test_a_cell_of_another_type_gets_its_own_back(name, kind):
    full = answered()
    one = find_cell(full, name)
    before = one["cell_type"]
    one["cell_type"] = kind
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert mended.notes == (
        ()
        if kind == before
        else (f"The type of a cell, code or text, was changed and is as released again: {name}.",)
    )


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("double-test", {"points": 99}),
        ("double-test", {"points": "many"}),
        ("double-test", {"solution": True}),
        ("double-test", {"locked": False}),
        ("double", {"grade": True}),
        ("why", {"points": [[[]]]}),
    ],
)
def test_changed_settings_are_set_back_with_a_note(name, flags):
    full = answered()
    find_cell(full, name)["metadata"]["nbgrader"].update(flags)
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert len(mended.notes) == 1
    assert "settings" in mended.notes[0]
    assert name in mended.notes[0]


def test_settings_that_are_only_missing_or_written_otherwise_are_set_back_silently():
    full = answered()
    find_cell(full, "double-test")["metadata"]["nbgrader"].update(points=2.0, checksum="other", extra=1)
    del find_cell(full, "why")["metadata"]["nbgrader"]["points"]
    assert mend(full).notes == ()


@pytest.mark.parametrize("name", GRADED)
@pytest.mark.parametrize("place", [0, 6, 12])
def test_a_moved_cell_is_put_back(name, place):
    full = answered()
    full["cells"].insert(place, full["cells"].pop(at(full, name)))
    mended = mend(full)
    assert order(mended) == [one["id"] for one in CELLS]
    assert answers(mended) == ANSWERS


def test_all_turned_round_is_put_in_order():
    full = answered()
    full["cells"].reverse()
    mended = mend(full)
    assert order(mended) == [one["id"] for one in CELLS]
    assert mended.notes == ()


def test_an_answer_is_found_by_the_cells_id_where_nbgraders_is_gone():
    full = answered()
    for one in full["cells"]:
        one["metadata"] = {}
    full["cells"].reverse()
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert mended.notes == ()


def test_answers_are_found_by_what_they_define_where_all_ids_are_gone():
    full = answered()
    for number, one in enumerate(full["cells"]):
        one |= {"metadata": {}, "id": f"x{number}"}
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert len(mended.notes) == 1
    assert "double, half, answer, why" in mended.notes[0]
    assert answers(mend(full, {})) == ANSWERS  # the value by its place
    full["cells"][-1] |= {"cell_type": "code"}
    assert source(mend(full), "why") == "*Write here.*"


def test_the_place_finds_an_answer_only_where_all_ids_are_gone():
    full = without(answered(), "why")
    full["cells"].append(cell("markdown", "mine", "Goodbye."))
    mended = mend(full)
    assert source(mended, "why") == "*Write here.*"
    assert order(mended)[-2:] == ["mine", "why"]


@pytest.mark.parametrize("kind", ["code", "markdown"])
@pytest.mark.parametrize("stub", [True, False])
def test_an_answer_in_a_cell_of_ones_own_is_found(kind, stub):
    full = answered()
    find_cell(full, "half")["source"] = CELLS[6]["source"]
    if not stub:
        without(full, "half")
    full["cells"].append(cell("code", "old", "def half(x):\n    return x - 1"))
    full["cells"].append(cell(kind, "mine", ANSWERS["half"]))
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert "Found in another cell than the one meant for it, and taken as the answer: half." in mended.notes
    assert ("type of a cell" in "".join(mended.notes)) == (kind == "markdown")
    assert order(mended) == [*(one["id"] for one in CELLS), "old"]


def test_a_value_in_a_cell_of_ones_own_is_found_by_its_declared_name():
    full = answered()
    find_cell(full, "answer")["source"] = f"# later\n{STUB}"
    assert source(mend(full), "answer") == f"# later\n{STUB}"
    find_cell(full, "answer")["source"] = STUB
    full["cells"].insert(2, cell("code", "mine", "answer = 41"))
    assert source(mend(full), "answer") == "answer = 41"
    assert source(mend(full, {}), "answer") == STUB


def test_an_unanswered_copy_of_ones_own_is_no_answer():
    full = notebook(CELLS)
    full["cells"].append(cell("code", "mine", CELLS[6]["source"]))
    mended = mend(full)
    assert mended.notes == ()
    assert order(mended)[-1] == "mine"


@pytest.mark.parametrize("kept", ["half", "half-test"])
def test_an_answer_merged_with_its_test_is_kept(kept):
    full = answered()
    merged = f"{ANSWERS['half']}\n\n{source_of(find_cell(full, 'half-test'))}"
    find_cell(full, kept)["source"] = merged
    without(full, "half" if kept == "half-test" else "half-test")
    mended = mend(full)
    assert answers(mended) == ANSWERS | {"half": merged}
    assert order(mended) == [one["id"] for one in CELLS]
    assert "half" in "".join(mended.notes)


def test_a_cell_of_ones_own_does_not_replace_an_answer():
    full = answered()
    full["cells"].append(cell("code", "mine", "def half(x):\n    return 0"))
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert order(mended)[-1] == "mine"


@pytest.mark.parametrize("cuts", [[1], [2], [3], [1, 2], [1, 2, 3]])
@pytest.mark.parametrize("ids", [True, False])
def test_an_answer_split_into_cells_is_put_together(cuts, ids):
    full = answered()
    lines = ANSWERS["double"].split("\n")
    place = at(full, "double")
    pieces = ["\n".join(lines[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    full["cells"][place : place + 1] = [
        solution("double", piece) if ids or number == 0 else cell("code", f"piece-{number}", piece)
        for number, piece in enumerate(pieces)
    ]
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert order(mended) == [one["id"] for one in CELLS]
    assert mended.notes == ("Put together again, since the answer was split into several cells: double.",)


def test_magics_do_not_hinder_putting_together():
    full = answered()
    find_cell(full, "double")["source"] = "%matplotlib inline\ndef double(x):"
    full["cells"].insert(4, cell("code", "mine", "# the rest\n    !ls\n    return 2 * x"))
    assert source(mend(full), "double").endswith("# the rest\n    !ls\n    return 2 * x")


@pytest.mark.parametrize("below", ["helper(1)", "    return (", "return 3", "# only a remark"])
def test_a_cell_that_is_no_rest_of_the_answer_stays_by_itself(below):
    full = answered()
    full["cells"].insert(4, cell("code", "mine", below))
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert order(mended)[4] == "mine"


def test_indented_text_below_an_answer_is_no_rest_of_it():
    full = answered()
    full["cells"].insert(4, cell("markdown", "mine", "    return 3"))
    mended = mend(full)
    assert answers(mended) == ANSWERS
    assert order(mended)[4] == "mine"


@pytest.mark.parametrize("place", range(len(CELLS) + 1))
def test_ones_own_cells_stay_where_they_were(place):
    full = answered()
    full["cells"][place:place] = [
        cell("code", "helper", "def helper(x):\n    return x"),
        cell("markdown", "note", "A note."),
    ]
    expected = [one["id"] for one in full["cells"]]
    mended = mend(full)
    assert order(mended) == expected
    assert mended.notes == ()


def test_ones_own_cells_follow_the_cell_before_them():
    full = answered()
    full["cells"].insert(4, cell("code", "mine", "double(3)"))
    moved = [full["cells"].pop(3), full["cells"].pop(3)]
    full["cells"] += moved
    assert order(mend(full))[3:5] == ["double", "mine"]


def test_ids_of_ones_own_cells_become_ids_that_are_used_once():
    full = answered()
    full["cells"] += [
        cell("code", name, "1") for name in ("mine", "mine", "own-1", "", "x" * 65, "ü", "a b\n")
    ]
    assert order(mend(full))[-7:] == ["mine", "own-1", "own-2", "own-3", "own-4", "own-5", "own-6"]


def test_nbgraders_metadata_of_another_notebook_are_taken_off():
    full = answered()
    full["cells"].append(graded("elsewhere", 50, "pass"))
    assert mend(full).notebook.cells[-1].metadata == {}


def test_text_made_code_by_the_student_stays_so():
    full = answered()
    full["cells"][2] |= {"cell_type": "code", "source": "1 + 1"}
    mended = mend(full)
    assert mended.notebook.cells[2].cell_type == "code"
    assert mended.notes == ()


def test_deleted_text_stays_deleted_and_the_cells_behind_it_stay():
    full = answered()
    full["cells"].insert(3, cell("markdown", "mine", "Mine."))
    del full["cells"][2]
    mended = mend(full)
    assert order(mended)[:4] == ["c-top", "setup", "mine", "double"]
    assert mended.notes == ()


@pytest.mark.parametrize("cells", [[], [cell("code", "x", "print('another course')")]])
def test_a_notebook_of_something_else_is_told_in_one_sentence(cells):
    mended = mend(notebook(cells))
    assert len(mended.notes) == 1
    assert "right file" in mended.notes[0]
    assert mended.reason is None
    assert [one.source for one in mended.notebook.cells if one.id == "x"] == [one["source"] for one in cells]


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(x):\n    y = 1", {"f"}),
        ("async def f():\n    pass\nclass C: pass", {"f", "C"}),
        ("a = 1\nb, c = 2, 3\nd = e = 4\n*f, g = h", {"a", "b", "c", "d", "e", "f", "g"}),
        ("x: float = 3", {"x"}),
        ("a == 1\nb += 2\nprint(c=3)\nd.e = 4\nf[0] = 5\nif g == 1: pass\nh <= 2", set()),
        ("a = b == c", {"a"}),
        ("for x in y: z = 3", set()),
        ("f(((((\ny = 2", {"y"}),
    ],
)
def test_the_names_that_code_binds(code, names):
    assert bound_names(code) == names


# Any damage whatever

places = st.integers(0, 40)


def delete(raw, i, j):
    del raw["cells"][i]


def double(raw, i, j):
    raw["cells"].insert(j, copy.deepcopy(raw["cells"][i]))


def move(raw, i, j):
    raw["cells"].insert(j, raw["cells"].pop(i))


def retype(raw, i, j):
    raw["cells"][i]["cell_type"] = ["code", "markdown", "raw", "magic", None][j % 5]


def strip(raw, i, j):
    raw["cells"][i]["metadata"] = [{}, None, {"nbgrader": None}][j % 3]


def forget_id(raw, i, j):
    raw["cells"][i]["id"] = [None, "", "double", "own-1", "c-top"][j % 5]


def split(raw, i, j):
    lines = source_of(raw["cells"][i]).split("\n")
    double(raw, i, i + 1)
    raw["cells"][i]["source"] = "\n".join(lines[: j % (len(lines) + 1)])
    raw["cells"][i + 1]["source"] = "\n".join(lines[j % (len(lines) + 1) :])


def mark(raw, i, j):
    flags = [{"points": 99}, {"solution": True}, {"grade_id": GRADED[j % len(GRADED)]}, {"locked": None}]
    raw["cells"][i]["metadata"] = {"nbgrader": {"grade_id": GRADED[i % len(GRADED)]} | flags[j % len(flags)]}


def write(raw, i, j):
    sources = [
        STUB,
        "    return 3",
        "def half(x):\n    return 1",
        "answer = 5",
        "",
        CELLS[4]["source"],
        "# Title",
    ]
    raw["cells"][i]["source"] = sources[j % len(sources)]


def add(raw, i, j):
    sources = ["    y = 1", "def double(x):", "answer = 1", "print(1)", CELLS[3]["source"], "A word", "  ("]
    raw["cells"].insert(i, cell(["code", "markdown"][j % 2], f"own-{j % 4}", sources[j % len(sources)]))


CHANGES = [delete, double, move, retype, strip, forget_id, split, mark, write, add]
changes = st.lists(st.tuples(st.sampled_from(CHANGES), places, places), max_size=12)
steady = settings(deadline=None, database=None, derandomize=True, max_examples=150)


def spoil(listed):
    raw = answered()
    for change, i, j in listed:
        if raw["cells"]:
            change(raw, i % len(raw["cells"]), j % len(raw["cells"]))
    return raw


@steady
@given(changes)
def test_after_any_changes_the_released_cells_are_there_and_repair_is_done(listed):
    mend(spoil(listed))


@steady
@given(changes)
def test_an_answer_that_still_stands_under_its_id_is_kept(listed):
    raw = spoil(listed)
    mended = mend(raw)
    for name, answer in ANSWERS.items():
        copies = [source_of(one) for one in raw["cells"] if named(one) == name]
        if copies and set(copies) == {answer}:
            got = source(mended, name)
            assert got == answer or got.startswith(answer + "\n    ")


def named(one):
    metadata = one["metadata"] if isinstance(one["metadata"], dict) else {}
    return (metadata.get("nbgrader") or {}).get("grade_id") or one["id"]


@steady
@given(changes)
def test_what_a_student_wrote_is_never_lost(listed):
    raw = spoil(listed)
    mended = mend(raw)
    whole = "\n".join(one.source for one in mended.notebook.cells)
    locked = {name: source_of(find_cell(notebook(CELLS), name)) for name in LOCKED}
    for one in raw["cells"]:
        if named(one) not in locked:
            assert source_of(one).strip("\n") in whole or source_of(one) in [c["source"] for c in CELLS]


@steady
@given(changes, st.data())
def test_bytes_spoiled_anywhere_end_in_a_notebook(listed, data):
    whole = json.dumps(spoil(listed)).encode()
    start = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.sampled_from([0, 1, 2, 30, len(whole)]))
    junk = data.draw(st.sampled_from([b"", b"\0", b"\xff", b'"', b"}", b"[", b"\\ud800", b"9" * 5000]))
    mended = mend(whole[:start] + junk + whole[start + length :])
    assert mended.reason is None or mended.notes == (mended.reason,)


@steady
@given(st.binary(max_size=200), st.sampled_from([b"", b"{", b'{"cells": [', b"\xff\xfe", b"\xef\xbb\xbf{"]))
def test_any_bytes_end_in_a_notebook(data, start):
    mend(start + data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
fields = {
    "cell_type": st.sampled_from(["code", "markdown", "heading"]) | json_values,
    "source": st.sampled_from(list(ANSWERS.values())) | json_values,
    "id": st.sampled_from(GRADED) | json_values,
    "metadata": json_values
    | st.fixed_dictionaries({"nbgrader": json_values | st.dictionaries(st.just("grade_id"), json_values)}),
    "attachments": json_values | st.dictionaries(st.text(max_size=3), json_values),
    "outputs": json_values,
}


@steady
@given(st.lists(json_values | st.fixed_dictionaries({}, optional=fields), max_size=4), json_values)
def test_any_json_ends_in_a_notebook(cells, rest):
    mend({"cells": cells, "metadata": rest, "nbformat": rest})
    mend({"worksheets": [{"cells": cells}, rest], "metadata": rest})


# Which file


HOLDS = b'{"grade_id": "derivative-step"}'


def unread(name):
    raise AssertionError(f"{name} need not be read")


def test_the_file_of_the_right_name_is_taken_without_a_note():
    found = pick(["engine.py", "derivatives.ipynb", "timestamp.txt"], unread, "derivatives.ipynb")
    assert (found.name, found.notes) == ("derivatives.ipynb", ())


def test_a_notebook_too_many_is_ignored_with_a_note():
    found = pick(["Untitled.ipynb", "derivatives.ipynb", "a-Copy1.ipynb"], unread, "derivatives.ipynb")
    assert found.name == "derivatives.ipynb"
    assert found.notes == (
        "Only derivatives.ipynb was graded; not looked at: Untitled.ipynb, a-Copy1.ipynb.",
    )


RENAMED = [
    "derivatives (1).ipynb",
    "Derivatives.ipynb",
    "derivatives-Copy1.ipynb",
    "derivatives - Copy (2).ipynb",
    "derivatives.ipynb.txt",
    "derivatives.ipynb.json",
    "DERIVATIVES.IPYNB",
]


@pytest.mark.parametrize("name", [*RENAMED, "mine.ipynb"])
def test_the_only_notebook_is_taken_whatever_its_name(name):
    found = pick([name, "notes.txt"], unread, "derivatives.ipynb")
    assert found.name == name
    assert found.notes == (f"The notebook was called {name}, and was taken for derivatives.ipynb.",)


@pytest.mark.parametrize("name", RENAMED)
def test_a_like_name_is_taken_rather_than_another(name):
    found = pick(["zzz.ipynb", name, "aaa.ipynb"], lambda name: b"", "derivatives.ipynb")
    assert found.name == name
    assert len(found.notes) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_notebook_with_the_cells_is_taken_rather_than_another(encoding):
    files = {"derivatives (1).ipynb": b"", "my work.ipynb": HOLDS.decode().encode(encoding), "z.ipynb": b"{}"}
    found = pick(files, files.__getitem__, "derivatives.ipynb", ["derivative-step"])
    assert found.name == "my work.ipynb"


def test_of_numbered_copies_the_last_is_taken():
    names = ["derivatives (10).ipynb", "derivatives (2).ipynb"]
    found = pick(names, lambda name: HOLDS, "derivatives.ipynb", ["derivative-step"])
    assert found.name == "derivatives (10).ipynb"


def test_no_notebook_is_told():
    found = pick(["a.py", ".ipynb_checkpoints/derivatives-checkpoint.ipynb"], unread, "derivatives.ipynb")
    assert found.name is None
    assert found.notes == ("There is no notebook among the files: derivatives.ipynb is missing. Hand it in.",)


def test_a_notebook_of_cells_without_end_is_not_read():
    data = json.dumps({"cells": [{}] * 5_001, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    assert repair(data, RELEASED).reason == "The notebook has more than 5,000 cells, and was not read."
    assert repair(data.replace(b"{}, ", b"", 1), RELEASED).reason is None
