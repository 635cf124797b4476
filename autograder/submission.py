"""Bytes of a submitted file -> the assignment's notebook with the student's answers in it, and notes.

Whatever was done to the file, the result has the released notebook's nbgrader cells, each once, in
their order, locked ones as they were released. Nothing here runs code or raises for what it reads.
"""

import ast
import codecs
import copy
import json
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict

LIMIT = 64 * 2**20  # bytes of a file that is read
FOLDER_LIMIT = 2 * LIMIT  # bytes of all files in a folder that are read
DEEPER = 20  # folders in a submission's that are looked into
CELLS = 5_000  # of a notebook that is read
JOINED = 100_000  # characters of an answer that is put together again
GUARDED = ("grade", "solution", "locked", "task", "points")  # what nbgrader's metadata decides
CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

NOTES = {
    "changed": "Restored as released, since a cell that is not for answers was changed: {}.",
    "deleted": "Restored, since the cell was missing: {}.",
    "doubled": "One copy of each was kept, where a cell stood more than once: {}.",
    "copies": "Of several different copies of an answer the last one counts: {}.",
    "retyped": "The type of a cell, code or text, was changed and is as released again: {}.",
    "flags": "The settings of a cell, such as its points, were changed and are as released again: {}.",
    "found": "Found in another cell than the one meant for it, and taken as the answer: {}.",
    "joined": "Put together again, since the answer was split into several cells: {}.",
    "missing": "The answer to {} is missing: its cell was deleted.",
}
FOREIGN = "None of this assignment's cells is in the notebook: was it the right file that was handed in?"
LATIN = "The file was not saved as UTF-8; check that signs like ü or é are still right."
OTHER_CODE = "The file was saved as {}, not as UTF-8, and was read all the same."
ZEROS = "Zero bytes after the notebook's end were ignored."
TRAILING = "Something after the notebook's end was ignored."

EMPTY = "The file is empty: nothing could be graded. Hand it in again."
TOO_LARGE = (
    f"The file is larger than {LIMIT // 2**20} MB, and was not read. Clear the outputs and hand it in again."
)
WEB_PAGE = "The file is a web page, not a notebook. Download the notebook itself and hand it in again."
NO_NOTEBOOK = "The file is not a notebook. Hand in the .ipynb file that Jupyter saves."
CUT = "The file is cut off or damaged at line {} of {}, and cannot be read. Hand it in again."
TOO_MANY = f"The notebook has more than {CELLS:,} cells, and was not read."
TOO_DEEP = "The file is nested too deeply to be a notebook, and was not read."


@dataclass(frozen=True)
class Repaired:
    """A submission as it can be graded.

    `notes` are sentences for the student. Where the file cannot be read, `reason` says why, is the
    only note, and the notebook is the released one with nothing answered.
    """

    notebook: NotebookNode
    notes: tuple[str, ...] = ()
    reason: str | None = None


def repair(data: bytes, released: NotebookNode, names: Mapping[str, Iterable[str]] | None = None) -> Repaired:
    """The submission in `data`, mended against the `released` notebook.

    `names` says for an exercise which names its answer binds; without it they are read off the
    stub's functions. An answer that has lost its metadata is found by them. Never raises for any
    `data`; repairing what was repaired changes nothing and gives no notes.
    """
    try:
        raw, notes = _read(data)
        cells = [_cell(one) for one in _raw_cells(raw)]
    except _Unreadable as error:
        return Repaired(copy.deepcopy(released), (str(error),), str(error))
    mending = _Mending([_Slot.of(one, names or {}) for one in released.cells], cells)
    notebook = from_dict(  # a copy, all the way down
        {
            "cells": mending.built,
            "metadata": released.metadata,
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    return Repaired(notebook, (*notes, *mending.sentences()))


# Bytes -> JSON


class _Unreadable(Exception):
    """A file that holds no notebook; its text is the reason, for the student."""


def _latin(error: UnicodeError) -> tuple[str, int]:
    """A byte that is no UTF-8 is read as Latin-1."""
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("autograder-latin", _latin)

# how a file begins, its encoding, and what it is called; UTF-32 before UTF-16, which begins alike
BEGINNINGS = (
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
    (b"{\0", "utf-16-le", "UTF-16"),
    (b"\0{", "utf-16-be", "UTF-16"),
)


BLANK = "\ufeff \t\r\n"


def _read(data: bytes) -> tuple[Any, list[str]]:
    """The JSON value at the beginning of `data`, and notes; _Unreadable where there is none."""
    if len(data) > LIMIT:
        raise _Unreadable(TOO_LARGE)
    if not data.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        raise _Unreadable(EMPTY)
    start, _ = _decode(data.lstrip(b" \t\r\n")[:8])
    if start.lstrip(BLANK)[:1] not in ("{", "<", ""):  # a picture, say: not worth reading
        raise _Unreadable(NO_NOTEBOOK)
    text, notes = _decode(data)
    text = text.lstrip(BLANK)
    if not text.startswith("{"):
        raise _Unreadable(WEB_PAGE if text.startswith("<") else NO_NOTEBOOK)
    try:
        decoder = json.JSONDecoder(strict=False, parse_int=_number)
        value, end = decoder.raw_decode(text)
    except json.JSONDecodeError as error:
        raise _Unreadable(CUT.format(error.lineno, text.count("\n") + 1)) from None
    except (RecursionError, MemoryError):
        raise _Unreadable(TOO_DEEP) from None
    rest = text[end:].strip()
    if rest:
        notes.append(TRAILING if rest.strip("\0") else ZEROS)
    return value, notes


def _number(digits: str) -> int:
    """A whole number of a notebook; those that are no sensible one need not be worked out."""
    return int(digits) if len(digits) < 20 else 0


def _decode(data: bytes) -> tuple[str, list[str]]:
    for beginning, encoding, name in BEGINNINGS:
        if data.startswith(beginning):
            return data.decode(encoding, "replace"), [OTHER_CODE.format(name)]
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError:
        return data.decode("utf-8", "autograder-latin"), [LATIN]


# JSON -> cells


@dataclass(eq=False)
class _Cell:
    """One cell of the student's file, whatever its form."""

    kind: str
    source: str
    cell_id: str | None = None
    nbgrader: Mapping[str, Any] = field(default_factory=dict)
    attachments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def grade_id(self) -> str | None:
        name = self.nbgrader.get("grade_id")
        return name if isinstance(name, str) else None

    @cached_property
    def text(self) -> str:
        return _plain(self.source)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(bound_names(self.source))

    def binds(self, names: Collection[str]) -> bool:
        """Whether it binds all of `names`, of which there is at least one."""
        return bool(names) and self.names.issuperset(names)


def _raw_cells(raw: Any) -> list[Mapping[str, Any]]:
    """The cells of a notebook of any version; _Unreadable where it has none."""
    cells = raw.get("cells")
    if not isinstance(cells, list) and isinstance(raw.get("worksheets"), list):
        sheets = [one.get("cells") for one in raw["worksheets"] if isinstance(one, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    if not isinstance(cells, list):
        raise _Unreadable(NO_NOTEBOOK)
    if len(cells) > CELLS:
        raise _Unreadable(TOO_MANY)
    return [one for one in cells if isinstance(one, dict)]


def _cell(raw: Mapping[str, Any]) -> _Cell:
    kind, cell_id, metadata = raw.get("cell_type"), raw.get("id"), raw.get("metadata")
    source = _text(raw.get("source", raw.get("input")))
    if kind == "heading":  # nbformat 3
        kind, source = "markdown", f"# {source}"
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return _Cell(
        kind=kind if kind in ("code", "markdown") else "raw",
        source=source,
        cell_id=cell_id if isinstance(cell_id, str) else None,
        nbgrader=nbgrader if isinstance(nbgrader, dict) else {},
        attachments=_attachments(raw.get("attachments")),
    )


def _text(value: Any) -> str:
    """A multi-line string of a notebook, which can be stored in one piece or in lines."""
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    text = value if isinstance(value, str) else ""
    return text.encode("utf-8", "replace").decode("utf-8")  # without half of a surrogate pair


def _attachments(value: Any) -> Mapping[str, Any]:
    """Pictures pasted into a text cell; what does not have the form of such is left out."""
    bundles = value.items() if isinstance(value, dict) else ()
    return {
        _text(name): {_text(kind): _text(data) for kind, data in bundle.items()}
        for name, bundle in bundles
        if isinstance(bundle, dict)
    }


def _plain(source: str) -> str:
    """A source without what makes no difference: spaces at the ends of lines, empty lines around."""
    return "\n".join(line.rstrip() for line in source.splitlines()).strip("\n")


# Each group of the pattern ends with an = that is no ==, and gives nothing back: linear.
DEFINITION = re.compile(r"(?:async\s+)?(?:def|class)\s+(\w+)")
ASSIGNMENT = re.compile(r"(?:[\w, *]++=(?!=))++|\w++\s*+:[^=]*+=(?!=)")


def bound_names(code: str) -> set[str]:
    """The names that code binds at its top level, by definition or assignment; it need not parse."""
    names: set[str] = set()
    for line in code.splitlines():
        definition, assignment = DEFINITION.match(line), ASSIGNMENT.match(line)
        if definition:
            names.add(definition[1])
        elif assignment and not line[0].isspace():
            targets = assignment[0].partition(":")[0]
            names.update(re.findall(r"\w+", targets))
    return names


# Cells -> the mended notebook


@dataclass(frozen=True)
class _Slot:
    """The place of one released cell."""

    released: NotebookNode
    text: str
    known: Mapping[str, Iterable[str]]

    @classmethod
    def of(cls, cell: NotebookNode, names: Mapping[str, Iterable[str]]) -> "_Slot":
        return cls(cell, _plain(cell.source), names)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that an answer here binds."""
        return frozenset(self.known.get(self.name) or bound_names(self.released.source))

    @cached_property
    def name(self) -> str:
        return str(self.nbgrader.get("grade_id", self.released.id))

    @cached_property
    def nbgrader(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.released.metadata.get("nbgrader", {})
        return found

    @cached_property
    def answer(self) -> bool:
        return bool(self.nbgrader.get("solution"))

    def build(self, cell: _Cell | None) -> dict[str, Any]:
        """The released cell, with the student's source in it where that is the student's to write."""
        if cell and (self.answer or not self.nbgrader):
            kind = self.released.cell_type if self.nbgrader else cell.kind
            return _build(cell, kind, self.released.id, self.released.metadata)
        one: dict[str, Any] = dict(self.released)
        return one | {"outputs": [], "execution_count": None} if one["cell_type"] == "code" else one


def _build(cell: _Cell, kind: str, cell_id: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    one: dict[str, Any] = {"cell_type": kind, "id": cell_id, "metadata": metadata, "source": cell.source}
    if kind == "code":
        one |= {"outputs": [], "execution_count": None}
    elif cell.attachments:
        one["attachments"] = cell.attachments
    return one


class _Mending:
    """The mending of one notebook: which of the student's cells takes which released cell's place.

    `taken` maps the number of a slot to the cell that takes it, `place` a cell to the slot that the
    cells after it belong behind; the cells in `gone` were left out or moved. All others are the
    student's own: they stay, behind the cell that they followed.
    """

    def __init__(self, slots: list[_Slot], cells: list[_Cell]) -> None:
        self.slots = slots
        self.cells = cells
        self.taken: dict[int, _Cell] = {}
        self.place: dict[_Cell, int] = {}
        self.gone: set[_Cell] = set()
        self.noted: dict[str, list[str]] = {kind: [] for kind in NOTES}
        self.built = self._run()

    def sentences(self) -> list[str]:
        """What was mended, for the student."""
        graded = [number for number, slot in enumerate(self.slots) if slot.nbgrader]
        if graded and not any(number in self.taken for number in graded):
            return [FOREIGN]
        return [NOTES[kind].format(", ".join(names)) for kind, names in self.noted.items() if names]

    def _run(self) -> list[dict[str, Any]]:
        self._find_by_id()
        stripped = not any(self.slots[number].nbgrader for number in self.taken)
        self._find_by_source()
        self._find_by_names()
        if stripped:
            self._find_by_place()
        behind = self._own_cells()
        self._join(behind)
        self._note_changes()
        return self._arrange(behind)

    def _own(self) -> list[_Cell]:
        return [cell for cell in self.cells if cell not in self.place and cell not in self.gone]

    def _take(self, number: int, cell: _Cell) -> None:
        self.taken[number] = cell
        self.place[cell] = number

    def _find_by_id(self) -> None:
        """By nbgrader's id, else by the cell's: all the copies of a cell, of which one counts."""
        by_grade_id = {slot.name: number for number, slot in enumerate(self.slots) if slot.nbgrader}
        by_cell_id = {slot.released.id: number for number, slot in enumerate(self.slots)}
        copies: dict[int, list[_Cell]] = {}
        for cell in self.cells:
            number = by_grade_id.get(cell.grade_id or "", by_cell_id.get(cell.cell_id or ""))
            if number is not None:
                copies.setdefault(number, []).append(cell)
        for number, several in copies.items():
            self._choose(number, several)

    def _choose(self, number: int, copies: list[_Cell]) -> None:
        """Of an answer the last changed copy, if there is one that binds its names; else the first."""
        slot = self.slots[number]
        if slot.answer:
            changed = [cell for cell in copies if cell.text != slot.text]
            binding = [cell for cell in changed if cell.binds(slot.names)]
            chosen = (binding or changed or copies)[-1]
        else:
            chosen = next((cell for cell in copies if cell.text == slot.text), copies[0])
        self._take(number, chosen)
        if slot.nbgrader and len(copies) > 1:
            others = [cell for cell in copies if cell is not chosen]
            same = {slot.text, chosen.text}
            self.gone.update(cell for cell in others if cell.text in same)
            differ = slot.answer and any(cell.text not in same for cell in others)
            self.noted["copies" if differ else "doubled"].append(slot.name)

    def _find_by_source(self) -> None:
        """Released cells that lost both ids, by what stands in them."""
        waiting: dict[str, list[_Cell]] = {}
        for cell in reversed(self._own()):
            waiting.setdefault(cell.text, []).append(cell)
        for number, slot in enumerate(self.slots):
            if number not in self.taken and slot.text and waiting.get(slot.text):
                self._take(number, waiting[slot.text].pop())

    def _find_by_names(self) -> None:
        """An answer that is missing or still the stub, by the names that another cell binds."""
        for number, slot in enumerate(self.slots):
            if slot.answer and (number not in self.taken or self.taken[number].text == slot.text):
                free = [one for one in self.cells if one not in self.gone and self._written_in(one)]
                found = [one for one in free if one.binds(slot.names) and one.text != slot.text]
                if found:
                    self.taken[number] = found[-1]
                    self.gone.add(found[-1])
                    self.noted["found"].append(slot.name)

    def _written_in(self, cell: _Cell) -> bool:
        """Whether a cell is the student's own, or a locked one that was changed."""
        if cell not in self.place:
            return True
        slot = self.slots[self.place[cell]]
        return bool(slot.nbgrader) and not slot.answer and cell.text != slot.text

    def _find_by_place(self) -> None:
        """In a notebook without any id: an answer of the right type, just where it has to be."""
        own = set(self._own())
        following = dict(zip(self.cells, self.cells[1:], strict=False))
        for number, slot in enumerate(self.slots):
            before = self.taken.get(number - 1)
            cell = following.get(before) if before in self.place else None
            if cell not in own or number in self.taken or not slot.answer:
                continue
            if cell.kind == slot.released.cell_type:
                self._take(number, cell)
                self.noted["found"].append(slot.name)

    def _own_cells(self) -> dict[int, list[_Cell]]:
        """The student's own cells, by the slot that they belong behind, -1 for the very top."""
        behind: dict[int, list[_Cell]] = {number: [] for number in range(-1, len(self.slots))}
        last = -1
        for cell in self.cells:
            if cell in self.place:
                last = self.place[cell]
            elif cell not in self.gone:
                behind[last].append(cell)
        return behind

    def _join(self, behind: dict[int, list[_Cell]]) -> None:
        """Puts answers together that go on, indented, in the code cells behind them."""
        for number, slot in enumerate(self.slots):
            begun = self.taken.get(number)
            if begun is None or not slot.answer or slot.released.cell_type != "code":
                continue
            parts = list(takewhile(_goes_on, behind[number]))
            source = "\n".join([begun.source, *(cell.source for cell in parts)])
            if parts and _parses(source):
                self.taken[number] = replace(begun, source=source)
                del behind[number][: len(parts)]
                self.noted["joined"].append(slot.name)
                if slot.name in self.noted["copies"]:  # not copies, but halves
                    self.noted["copies"].remove(slot.name)

    def _note_changes(self) -> None:
        for number, slot in enumerate(self.slots):
            cell = self.taken.get(number)
            if not slot.nbgrader:
                continue
            if cell is None:
                self.noted["missing" if slot.answer else "deleted"].append(slot.name)
                continue
            here = {
                "changed": not slot.answer and cell.text != slot.text,
                "retyped": cell.kind != slot.released.cell_type,
                "flags": any(
                    key in cell.nbgrader and key in slot.nbgrader and cell.nbgrader[key] != slot.nbgrader[key]
                    for key in GUARDED
                ),
            }
            for kind in (kind for kind, holds in here.items() if holds):
                self.noted[kind].append(slot.name)

    def _arrange(self, behind: Mapping[int, list[_Cell]]) -> list[dict[str, Any]]:
        """All cells: the released ones in their order, one's own behind those that they followed."""
        ids = _Ids({slot.released.id for slot in self.slots})
        built = []
        for number in range(-1, len(self.slots)):
            if number in self.taken or (number >= 0 and self.slots[number].nbgrader):
                built.append(self.slots[number].build(self.taken.get(number)))
            built += [_build(cell, cell.kind, ids.unique(cell.cell_id), {}) for cell in behind[number]]
        return built


class _Ids:
    """Cell ids, each given once."""

    def __init__(self, used: Iterable[str]) -> None:
        self.used = set(used)
        self.count = 0

    def unique(self, wanted: str | None) -> str:
        """`wanted` where it is a free cell id, else a new one."""
        while not wanted or wanted in self.used or not CELL_ID.fullmatch(wanted):
            self.count += 1
            wanted = f"own-{self.count}"
        self.used.add(wanted)
        return wanted


def _goes_on(cell: _Cell) -> bool:
    """Whether a code cell begins indented, as the rest of a function does."""
    lines = (line for line in cell.source.splitlines() if line.strip() and not line.startswith("#"))
    return cell.kind == "code" and next(lines, "")[:1].isspace()


def _parses(code: str) -> bool:
    """Whether code is Python, lines with Jupyter's % and ! aside."""
    if len(code) > JOINED:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(re.sub(r"^([ \t]*)[%!].*", r"\1pass", code, flags=re.MULTILINE))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# The notebook among the files


@dataclass(frozen=True)
class Picked:
    """Which file of a submission is the notebook, None where none is, and sentences for the student."""

    name: str | None
    notes: tuple[str, ...] = ()


NO_FILE = "There is no notebook among the files: {} is missing. Hand it in."
RENAMED = "The notebook was called {}, and was taken for {}."
IGNORED = "Only {} was graded; not looked at: {}."


def pick(
    names: Iterable[str], read: Callable[[str], bytes], expected: str, ids: Collection[str] = ()
) -> Picked:
    """Which of the files `names` is the notebook `expected`.

    It is the one of that name; else, of those that may be notebooks, one that holds some of the
    grade `ids`, rather than another; one with a name like it, rather than another; the last, as
    files are numbered. `read` gives a file's bytes, and is asked only where there is a choice.
    """
    notebooks = sorted((one for one in names if _may_be_notebook(one)), key=_numbered)
    if expected in notebooks:
        name = expected
    elif not notebooks:
        return Picked(None, (NO_FILE.format(expected),))
    elif len(notebooks) == 1:
        name = notebooks[0]
    else:
        name = max(
            reversed(notebooks), key=lambda one: (_holds(read(one), ids), _stem(one) == _stem(expected))
        )
    others = [one for one in notebooks if one != name]
    notes = [RENAMED.format(name, expected)] if name != expected else []
    notes += [IGNORED.format(name, ", ".join(others))] if others else []
    return Picked(name, tuple(notes))


def read_folder(folder: Path, expected: str) -> dict[str, bytes]:
    """The files of a submission's folder that may be its notebook, by name; links are not followed.

    Where there is none, those one folder deeper, as unpacking makes them. Of a file that is too large to be
    read, just so much is read that this can be told. Where all together are too large, the one of the name
    `expected` is among those that are read.
    """
    files, room = {}, FOLDER_LIMIT
    found = _notebooks_in(folder)
    if not found:
        deeper = (one for one in sorted(folder.iterdir()) if one.is_dir() and not one.is_symlink())
        found = [path for one in islice(deeper, DEEPER) for path in _notebooks_in(one)]
    for path in sorted(found, key=lambda one: (one.name != expected, one)):
        size = min(path.stat().st_size, LIMIT + 1)
        if size <= room:
            files[writable(path.relative_to(folder).as_posix())] = read_start(path, size)
            room -= size
    return files


def _notebooks_in(folder: Path) -> list[Path]:
    """The plain files in a folder that may be notebooks; none in a hidden one."""
    if folder.name.startswith((".", "__")):
        return []
    return [one for one in folder.iterdir() if _may_be_notebook(one.name) and is_plain_file(one)]


def is_plain_file(path: Path) -> bool:
    """Whether it is a file, and no link to one, whose reading comes to an end."""
    return path.is_file() and not path.is_symlink()


def read_start(path: Path, size: int) -> bytes:
    """The first `size` bytes of a file."""
    with path.open("rb") as file:
        return file.read(size)


def writable(name: str) -> str:
    """A file's name as text that every file can hold: some have bytes that are no UTF-8."""
    return name.encode(errors="replace").decode()


def _may_be_notebook(name: str) -> bool:
    return ".ipynb" in name.lower() and not any(part.startswith(".") for part in re.split(r"[/\\]", name))


def _holds(data: bytes, ids: Collection[str]) -> bool:
    text, _ = _decode(data[:LIMIT])
    return any(f'"{one}"' in text for one in ids)


def _stem(name: str) -> str:
    """A file's name without its ending, a copy's number, and what differs between systems."""
    stem = re.split(r"\.ipynb", re.split(r"[/\\]", name.lower())[-1])[0]
    stem = re.sub(r"(?:[ _-]*+(?:\(\d++\)|copy *+\d*+))++$", "", stem)
    return re.sub(r"[^a-z0-9]", "", stem)


def _numbered(name: str) -> tuple[list[tuple[int, str]], str]:
    """Sorts names as people number files: 2 before 10."""
    return [(int(digits or 0), other) for other, digits in re.findall(r"(\D+)|(\d+)", name)], name
