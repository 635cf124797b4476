"""Folders written aside and moved into place: what is left when the one who does it is stopped."""

import json
import os

import pytest

from autograder.shelf import Busy, Shelf, other_files

KEYS = [("01-derivatives", "a"), ("01-derivatives", "b")]


def files(text):
    from pathlib import Path

    return [(Path("notebook.ipynb"), text.encode()), (Path("data/more.txt"), b"more")]


def put_down(shelf, keys, text):
    for key in keys:
        shelf.stage(key, files(text))
    shelf.announce(keys)
    shelf.settle(keys)


def test_what_is_put_down_lies_in_its_place_read_only(tmp_path):
    with Shelf(tmp_path, "autograded") as shelf:
        put_down(shelf, KEYS, "one")
        assert shelf.unfinished() == set()
    for _, student in KEYS:
        notebook = tmp_path / "autograded" / student / "01-derivatives" / "notebook.ipynb"
        assert notebook.read_text() == "one"
        assert notebook.stat().st_mode & 0o777 == 0o444
        assert (notebook.parent / "data" / "more.txt").read_bytes() == b"more"


def test_what_was_there_before_is_replaced_whole(tmp_path):
    with Shelf(tmp_path, "autograded") as shelf:
        put_down(shelf, KEYS, "one")
        (shelf.place(KEYS[0]) / "left.txt").touch()
        put_down(shelf, KEYS[:1], "two")
        assert sorted(path.name for path in shelf.place(KEYS[0]).iterdir()) == ["data", "notebook.ipynb"]
        assert (shelf.place(KEYS[0]) / "notebook.ipynb").read_text() == "two"
        assert (shelf.place(KEYS[1]) / "notebook.ipynb").read_text() == "one"


def test_two_at_once_are_refused(tmp_path):
    with Shelf(tmp_path, "autograded"):
        with pytest.raises(Busy, match="wait until it ends"), Shelf(tmp_path, "autograded"):
            pass
        with Shelf(tmp_path, "feedback"):  # another step is another shelf
            pass
    with Shelf(tmp_path, "autograded"):
        pass


class Stopped(BaseException):
    """Stands for a kill: nothing after it is run."""


def test_whenever_it_is_stopped_what_is_not_whole_counts_as_not_graded(tmp_path, monkeypatch):
    """Stopped before each of its calls that change a file, one after the other, until it gets through.

    After each stop, a submission that is not unfinished has its old folder or its new one, whole.
    """
    calls = {name: getattr(os, name) for name in ("replace", "rename", "mkdir", "unlink", "chmod")}
    stops = 0
    while True:
        left, root = [stops], tmp_path / str(stops)
        with Shelf(root, "autograded") as shelf:
            put_down(shelf, KEYS, "one")

        def counted(name, left=left):
            def call(*arguments, **named):
                if left[0] == 0:
                    raise Stopped
                left[0] -= 1
                return calls[name](*arguments, **named)

            return call

        with monkeypatch.context() as patch:
            for name in calls:
                patch.setattr(os, name, counted(name))
            try:
                with Shelf(root, "autograded") as shelf:
                    put_down(shelf, KEYS, "two")
                through = True
            except Stopped:
                through = False
        with Shelf(root, "autograded") as shelf:
            unfinished = shelf.unfinished()
            for key in set(KEYS) - unfinished:
                text = (shelf.place(key) / "notebook.ipynb").read_text()
                assert text in ("one", "two"), stops
                assert (shelf.place(key) / "data" / "more.txt").is_file()
            put_down(shelf, KEYS, "three")
            assert shelf.unfinished() == set()
            assert all((shelf.place(key) / "notebook.ipynb").read_text() == "three" for key in KEYS)
        assert not any((root / ".grading" / "autograded").glob("*/*"))
        if through:
            assert stops > 10
            return
        stops += 1


def test_the_journal_keeps_what_others_have_left(tmp_path):
    with Shelf(tmp_path, "autograded") as shelf:
        shelf.announce(KEYS)
    with Shelf(tmp_path, "autograded") as shelf:
        assert shelf.unfinished() == set(KEYS)
        put_down(shelf, KEYS[:1], "one")
        assert shelf.unfinished() == set(KEYS[1:])
    assert json.loads((tmp_path / ".grading" / "autograded" / "journal.json").read_text()) == [list(KEYS[1])]


def test_links_in_a_submission_are_not_followed(tmp_path):
    folder = tmp_path / "submitted"
    folder.mkdir()
    (tmp_path / "gradebook.db").write_text("scores")
    (folder / "link.txt").symlink_to(tmp_path / "gradebook.db")
    (folder / "folder").symlink_to(tmp_path)
    (folder / "own.txt").write_text("mine")
    (folder / "notebook.ipynb").write_text("{}")
    assert [str(path) for path, _ in other_files(folder)] == ["own.txt"]
