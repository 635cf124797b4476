"""The audit is clean, and would not be if a test were blind."""

import dataclasses

import pytest

from autograder import audit, cli
from autograder.course import ASSIGNMENTS, assignment, find_course
from autograder.exercise import Mistake
from autograder.exercises import declared

COURSE = find_course()


@pytest.mark.parametrize("one", ASSIGNMENTS, ids=lambda one: one.name)
def test_every_answer_is_judged_rightly_and_costs_no_other_exercise(one):
    rows = audit.audit(COURSE, [one])
    assert [row.exercise for row in rows] == [exercise.id for exercise in declared(one).exercises]
    assert [fault for row in rows for fault in row.faults] == []
    assert sum(row.mutants for row in rows) > 30
    for row, exercise in zip(rows, declared(one).exercises, strict=True):
        assert row.accepted == row.variants == len(exercise.variants) + 1
        assert row.caught == row.recognised == row.kept == row.mistakes == len(exercise.mistakes)


def faults(monkeypatch, **changes):
    """The audit's faults when one exercise is declared otherwise."""
    first = assignment("01-derivatives")
    notebook = declared(first)
    blind = dataclasses.replace(notebook.exercise("derivative-square"), **changes)
    changed = tuple(blind if one.id == blind.id else one for one in notebook.exercises)
    monkeypatch.setattr(audit, "declared", lambda one: dataclasses.replace(notebook, exercises=changed))
    return [fault for row in audit.audit(COURSE, [first]) for fault in row.faults]


def test_a_blind_test_is_found(monkeypatch):
    found = faults(monkeypatch, lesson=[{"x": 2}], draw=lambda random: [])
    assert "the mistake 'the-square' keeps all points" in found


def test_inputs_that_catch_a_mutant_only_now_and_then_are_found(monkeypatch):
    found = faults(monkeypatch, lesson=[{"x": 2}], draw=lambda random: [{"x": random.choice([0, 2, 5])}])
    assert any(fault.startswith("a mutant survives on some inputs") for fault in found)


def test_a_mistake_that_is_none_and_one_that_looks_like_another_are_found(monkeypatch):
    square = declared(assignment("01-derivatives")).exercise("derivative-square")
    twin = Mistake("twin", square.mistakes[0].code, "The same again.")
    right = Mistake("right", square.reference, "Nothing is wrong.")
    found = faults(monkeypatch, mistakes=[*square.mistakes, twin, right])
    assert f"the mistake 'twin' is taken for '{square.mistakes[0].id}'" in found
    assert "the mistake 'right' keeps all points" in found


def test_a_right_variant_that_is_refused_is_found(monkeypatch):
    found = faults(
        monkeypatch,
        variants={
            "float32": "import numpy\ndef d_square(x):\n    return numpy.float32(2) * numpy.float32(x)\n"
        },
    )
    assert "with float32, points are lost in derivative-square" in found


def test_the_command_prints_a_table_and_fails_on_a_fault(monkeypatch, capsys):
    row = audit.Row("value-mul", 3, 3, 5, 4, 4, 5, 40, 0, ["the mistake 'x' keeps all points"])
    monkeypatch.setattr(audit, "audit", lambda course, assignments: [row])
    monkeypatch.chdir(COURSE.root)
    assert cli.main(["audit"]) == 1
    printed = capsys.readouterr().out
    assert "value-mul  3 of 3" in printed
    assert "value-mul: the mistake 'x' keeps all points" in printed
    row.faults.clear()
    assert cli.main(["audit", "--json"]) == 0
