"""The made class: what is in it, and that the same call makes the same bytes."""

import ast
import json
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import nbformat
import pytest
from nbgrader.utils import parse_utc

from autograder.cli import main
from autograder.course import ASSIGNMENTS, Course, CourseError, find_course
from autograder.damage import DAMAGES, begin_functions, grade_id, source_of
from autograder.exercise import Mistake, Notebook
from autograder.exercises import declared
from autograder.sample import KINDS, Release, answers_to, make_class, plan_class, sentences

COURSE = find_course(Path(__file__).parent)
THERE = [one for one in ASSIGNMENTS if declared(one).points]
RELEASES = {one.name: Release.read(COURSE, one) for one in THERE}
FULL = {
    name: release.answered({one.id: "reference" for one in declared(release.assignment).exercises})
    for name, release in RELEASES.items()
}
FIRST = THERE[0]


@pytest.fixture(scope="module")
def class_of_24(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    return folder, make_class(COURSE, folder, 24, 1)


def read(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sources(data):
    return {grade_id(cell): source_of(cell) for cell in json.loads(data)["cells"] if grade_id(cell)}


def test_the_same_call_makes_the_same_bytes_and_another_seed_others(tmp_path, class_of_24):
    folder, _ = class_of_24
    make_class(COURSE, tmp_path / "again", 24, 1)
    make_class(COURSE, tmp_path / "other", 24, 2)
    assert read(tmp_path / "again") == read(folder)
    assert read(tmp_path / "other") != read(folder)


def test_every_folder_is_laid_out_as_nbgrader_collects_it(class_of_24):
    folder, plans = class_of_24
    assert {path.name for path in folder.iterdir() if path.is_dir()} == set(plans)
    for student, theirs in plans.items():
        for one in THERE:
            files = read(folder / student / one.name)
            parse_utc(files.pop("timestamp.txt").decode())
            damage = DAMAGES.get(theirs[one.name].damage or "")
            name = damage.file.format(name=one.notebook) if damage else one.file
            others = damage.also if damage else {}
            beside = {path.name for path in (COURSE.release / one.name).iterdir()} - {one.file}
            assert set(files) == {name, *others, *beside}


def test_the_timestamp_has_nbgraders_form(class_of_24):
    folder, _ = class_of_24
    text = (folder / "student-01" / FIRST.name / "timestamp.txt").read_text()
    datetime.strptime(text, "%Y-%m-%d %H:%M:%S.%f %Z")


def test_an_id_with_a_dot_and_one_with_a_space_are_in_the_class(class_of_24):
    _, plans = class_of_24
    assert len(plans) == 24
    assert {"student-01", "student.02", "student 03", "student-24"} <= set(plans)


def handed_in(notebooks, students, seed):
    """The answers that a class hands in, by exercise."""
    labels = defaultdict(set)
    for theirs in plan_class(notebooks, students, seed).values():
        for plan in theirs.values():
            for exercise, label in plan.answers.items():
                labels[exercise].add(label)
    return labels


def slips(exercise):
    return {f"mistake {one.id}" for one in exercise.mistakes}


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("students", [5, 12, 24, 60])
def test_a_class_hands_in_every_mistake_that_it_has_room_for(students, seed):
    labels = handed_in([declared(one) for one in THERE], students, seed)
    for one in THERE:
        for exercise in declared(one).exercises:
            # One student each stands for the kinds that need not hold a mistake.
            wanted = min(len(exercise.mistakes), students - (len(KINDS) - 1))
            assert len(labels[exercise.id] & slips(exercise)) >= wanted
            assert {"unanswered", "reference"} <= labels[exercise.id]


@pytest.mark.parametrize("students", [2, 5])
def test_classes_too_small_for_all_mistakes_have_them_in_turn(students):
    notebook = declared(FIRST)
    most = max(len(exercise.mistakes) for exercise in notebook.exercises)
    labels = [handed_in([notebook], students, seed) for seed in range(most)]
    for exercise in notebook.exercises:
        assert set().union(*(one[exercise.id] for one in labels)) >= slips(exercise)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_every_declared_answer_stands_in_a_large_class(seed):
    notebooks = [declared(one) for one in THERE]
    most = max(len(answers_to(exercise)) for one in notebooks for exercise in one.exercises)
    labels = handed_in(notebooks, len(KINDS) + most + len(DAMAGES), seed)
    for notebook in notebooks:
        for exercise in notebook.exercises:
            assert labels[exercise.id] == {"unanswered", *answers_to(exercise)}
        for written in notebook.written:
            texts = {f"text {number}" for number in range(len(sentences(written.id)))}
            assert labels[written.id] == {"unanswered", *texts}


def test_damages_go_where_mistakes_leave_room_and_every_notebook_has_one():
    exercise = declared(FIRST).exercises[0]
    long = replace(exercise, mistakes=[Mistake(str(number), "pass", "") for number in range(60)])
    course = [Notebook("long", "", (long,)), Notebook("short", "", (exercise,))]
    plans = plan_class(course, 80, 1)
    damages = {
        name: [theirs[name].damage for theirs in plans.values() if theirs[name].damage]
        for name in ("long", "short")
    }
    assert len(damages["long"]) == 1
    assert sorted(damages["long"] + damages["short"]) == sorted(DAMAGES)


def test_every_kind_and_every_damage_stands_in_a_large_class():
    plans = plan_class([declared(one) for one in THERE], 60, 1)
    handed_in = [plan for theirs in plans.values() for plan in theirs.values()]
    assert {plan.kind for plan in handed_in} == set(KINDS)
    damages = [plan.damage for plan in handed_in if plan.damage]
    assert sorted(damages) == sorted(DAMAGES)


def test_eight_assignments_share_the_damages_in_a_class_of_24():
    notebook = declared(FIRST)
    course = [Notebook(one.name, "", notebook.exercises) for one in ASSIGNMENTS]
    plans = plan_class(course, 24, 1)
    damages = [plan.damage for theirs in plans.values() for plan in theirs.values() if plan.damage]
    assert sorted(damages) == sorted(DAMAGES)


def test_every_student_hands_in_different_kinds():
    notebook = declared(FIRST)
    course = [Notebook(one.name, "", notebook.exercises) for one in ASSIGNMENTS]
    for theirs in plan_class(course, 24, 1).values():
        assert len({plan.kind for plan in theirs.values()}) > 1


def test_many_right_answers_all_find_a_place():
    styles = {str(number): "pass" for number in range(12)}
    exercises = tuple(replace(one, variants=styles) for one in declared(FIRST).exercises)
    course = [Notebook(one.name, "", exercises) for one in ASSIGNMENTS]
    plans = plan_class(course, 24, 1)
    for one in ASSIGNMENTS:
        for exercise in exercises:
            labels = {theirs[one.name].answers[exercise.id] for theirs in plans.values()}
            assert labels >= {f"variant {name}" for name in styles}


@pytest.mark.parametrize("seed", range(5))
def test_of_two_exercises_a_partly_right_notebook_has_one_right(seed):
    notebook = Notebook("two", "", declared(FIRST).exercises[:2])
    plans = plan_class([notebook], 60, seed)
    partly = [theirs["two"] for theirs in plans.values() if theirs["two"].kind == "partly"]
    for plan in partly:
        wrong = [label == "unanswered" or label.startswith("mistake") for label in plan.answers.values()]
        assert sorted(wrong) == [False, True]


def test_a_damage_hits_an_exercise_that_is_answered_by_a_function():
    plans = plan_class([declared(one) for one in THERE], 60, 1)
    for theirs in plans.values():
        for one in THERE:
            plan = theirs[one.name]
            assert (plan.damage is None) == (plan.damaged is None)
            if plan.damaged:
                assert plan.answers[plan.damaged] == "reference"
                assert "def " in declared(one).exercise(plan.damaged).reference


def test_many_mistakes_come_before_the_damages():
    exercise = declared(FIRST).exercises[0]
    slips = [Mistake(str(number), "pass", "") for number in range(19)]
    notebook = Notebook("many", "", (replace(exercise, mistakes=slips),))
    plans = plan_class([notebook], 24, 1)
    labels = {theirs["many"].answers[exercise.id] for theirs in plans.values()}
    assert labels >= {f"mistake {slip.id}" for slip in slips}


@pytest.mark.parametrize("students", [1, 2, 5])
def test_a_small_class_has_as_many_kinds_as_students(students):
    plans = plan_class([declared(FIRST)], students, 1)
    assert {theirs[FIRST.name].kind for theirs in plans.values()} == set(list(KINDS)[:students])


def test_a_partly_right_notebook_has_something_right_and_something_not():
    plans = plan_class([declared(one) for one in THERE], 24, 3)
    partly = [plan for theirs in plans.values() for plan in theirs.values() if plan.kind == "partly"]
    assert partly
    for plan in partly:
        labels = {label.split()[0] for label in plan.answers.values()}
        assert labels & {"reference", "variant"}
        assert labels & {"unanswered", "mistake"}


def test_the_answers_that_the_plan_names_stand_in_the_notebooks(class_of_24):
    folder, plans = class_of_24
    manifest = json.loads((folder / "class.json").read_text())["students"]
    for student, theirs in plans.items():
        for one in THERE:
            plan = theirs[one.name]
            assert manifest[student][one.name]["answers"] == dict(plan.answers)
            assert manifest[student][one.name]["damage"] == plan.damage
            if plan.damage:
                continue
            there = sources((folder / student / one.name / one.file).read_bytes())
            stubs = sources(RELEASES[one.name].notebook)
            for exercise in declared(one).exercises:
                answers = {"unanswered": stubs[exercise.id], **answers_to(exercise)}
                assert there[exercise.id] == answers[plan.answers[exercise.id]].strip("\n")


def test_an_untouched_notebook_is_the_released_one_byte_for_byte(class_of_24):
    folder, plans = class_of_24
    for one in THERE:
        student = next(name for name, theirs in plans.items() if theirs[one.name].kind == "untouched")
        released = (COURSE.release / one.name / one.file).read_bytes()
        assert (folder / student / one.name / one.file).read_bytes() == released


@pytest.mark.parametrize("release", RELEASES.values(), ids=lambda one: one.assignment.name)
def test_only_answers_differ_from_the_release(release):
    full = FULL[release.assignment.name]
    nbformat.validate(nbformat.reads(full.decode(), as_version=4))
    answered = {one.id for one in declared(release.assignment).exercises}
    before, after = (json.loads(data)["cells"] for data in (release.notebook, full))
    differing = {grade_id(a) for a, b in zip(before, after, strict=True) if a != b}
    assert differing == answered


@pytest.mark.parametrize("name", DAMAGES)
def test_every_damage_damages(name):
    damage, exercise = DAMAGES[name], declared(FIRST).exercises[0].id
    full = FULL[FIRST.name]
    changed = damage.apply(full, exercise) != full or damage.also or damage.file != "{name}.ipynb"
    assert changed
    assert damage.apply(full, exercise) == damage.apply(full, exercise)
    assert damage.loses in ("nothing", "exercise", "everything")
    assert damage.told in ("", "repair", "pick", "run")


def test_a_statement_is_put_at_the_beginning_of_every_function():
    code = 'def a(x, y=1):\n    """Says."""\n    return x\n\ndef b(z): return z'
    spoiled = begin_functions(code, "print('é')\nreturn {again}")
    assert ast.unparse(ast.parse(spoiled)) == (
        "def a(x, y=1):\n    print('é')\n    return a(x, y)\n    'Says.'\n    return x\n\n"
        "def b(z):\n    print('é')\n    return b(z)\n    return z"
    )
    with pytest.raises(ValueError, match="no function"):
        begin_functions("rise = 6", "pass")


def test_a_folder_with_something_in_it_is_refused_and_left_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(COURSE.root)
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["sample", str(tmp_path)]) == 2
    assert "is not empty: name a folder that is new or empty" in capsys.readouterr().err
    assert main(["sample", str(tmp_path / "mine.txt")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_class_of_nobody_is_refused(tmp_path):
    with pytest.raises(CourseError, match="at least one student"):
        make_class(COURSE, tmp_path / "class", 0, 1)
    assert not (tmp_path / "class").exists()


@pytest.mark.parametrize(
    ("notebook", "complaint"),
    [
        (None, r"derivatives\.ipynb is missing: run 'autograder build 01-derivatives' first"),
        ('{"cells": []}', r"lacks derivative-quotient, .*: run 'autograder build 01-derivatives' first"),
        ("[]", r"is no notebook: run 'autograder build 01-derivatives' first"),
    ],
)
def test_an_unbuilt_course_is_refused(tmp_path, notebook, complaint):
    if notebook is not None:
        folder = tmp_path / "release" / FIRST.name
        folder.mkdir(parents=True)
        (folder / FIRST.file).write_text(notebook)
    with pytest.raises(CourseError, match=complaint):
        make_class(Course(tmp_path), tmp_path / "class", 1, 1)
    assert not (tmp_path / "class").exists()


def test_the_command_makes_a_class_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(COURSE.root)
    assert main(["sample", str(tmp_path / "new" / "class"), "--students", "2", "--seed", "5"]) == 0
    out = capsys.readouterr().out
    assert f"{2 * len(THERE)} submissions by 2 students" in out
    assert (tmp_path / "new" / "class" / "class.json").is_file()
