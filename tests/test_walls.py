"""The walls between the rooms, as pyproject.toml declares them."""

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports


def test_no_room_reaches_where_it_must_not(in_the_course):
    assert lint_imports(no_cache=True) == EXIT_STATUS_SUCCESS
