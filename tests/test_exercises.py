"""The declarations prove themselves: right answers pass, every known mistake is caught as itself."""

import json

import pytest

from autograder.course import ASSIGNMENTS
from autograder.exercise import MESSAGE_LINES, Exercise, Notebook, edited, judge
from autograder.exercises import declared, find

# The contract: ids and points, in order.
CONTRACT = {
    "01-derivatives": {
        "derivative-quotient": 2, "derivative-square": 1, "derivative-rise": 1, "derivative-gradient": 3,
        "derivative-direction": 1, "derivative-step": 2,
    },
    "02-chain-rule": {
        "chain-forward": 1, "chain-rates": 1, "chain-local": 2, "chain-backward": 3, "chain-reuse": 2,
        "chain-two-uses": 1, "chain-two-layer": 2,
    },
    "03-value-engine": {
        "value-lift": 1, "value-add": 2, "value-mul": 2, "value-pow": 2, "value-exp": 2, "value-log": 2,
        "value-tanh": 2, "value-relu": 2, "value-arithmetic": 3, "value-order": 3, "value-backward": 3,
    },
    "04-gradient-check": {
        "check-central": 2, "check-neuron": 2, "check-gradient": 3, "check-suspects": 3, "check-step": 1,
        "check-relu": 1,
    },
    "05-softmax": {
        "softmax-probabilities": 3, "softmax-loss": 2, "softmax-engine": 3, "softmax-gradient": 2,
        "softmax-by-hand": 1, "softmax-certain": 1,
    },
    "06-matrix-product": {
        "matrix-shapes": 2, "matrix-dw": 2, "matrix-dx": 2, "matrix-numeric": 3, "matrix-error": 1,
        "matrix-objects": 2,
    },
    "07-gradient-descent": {
        "descent-loss": 2, "descent-train": 4, "descent-forgetting": 1, "descent-noisy": 2,
    },
    "08-learning-rate": {"rate-study": 2, "rate-curvature": 2, "rate-limit": 1, "rate-edge": 2},
}  # fmt: skip
WRITTEN = {"07-gradient-descent": {"descent-explain": 1}, "08-learning-rate": {"rate-explain": 1}}

ALL = [(declared(one), exercise) for one in ASSIGNMENTS for exercise in declared(one).exercises]
SEEDS = ("one", "two", "three")

every_exercise = pytest.mark.parametrize(
    ("notebook", "exercise"), ALL, ids=[exercise.id for _, exercise in ALL]
)
every_function = pytest.mark.parametrize(
    ("notebook", "exercise"),
    [pair for pair in ALL if pair[1].asks == "function"],
    ids=[exercise.id for _, exercise in ALL if exercise.asks == "function"],
)


def verdict(notebook: Notebook, exercise: Exercise, code: str, seed: str = "one"):
    cases = exercise.cases(seed)
    return judge(notebook, exercise, cases, [*notebook.observe(exercise, code, cases)])


def test_the_exercises_are_those_of_the_contract():
    for one in ASSIGNMENTS:
        notebook = declared(one)
        assert {exercise.id: exercise.points for exercise in notebook.exercises} == CONTRACT[one.name]
        assert [exercise.id for exercise in notebook.exercises] == list(CONTRACT[one.name])
        assert {text.id: text.points for text in notebook.written} == WRITTEN.get(one.name, {})


@every_exercise
def test_right_answers_have_full_marks(notebook, exercise):
    for seed in SEEDS:
        for code in (exercise.reference, *exercise.variants.values()):
            assert verdict(notebook, exercise, code, seed).score == exercise.points, code


@every_exercise
def test_known_mistakes_lose_points_and_are_explained(notebook, exercise):
    """Whatever inputs are drawn, and as many points: the same answer is worth the same for everybody."""
    slow = notebook.assignment in ("03-value-engine", "04-gradient-check")
    for mistake in exercise.mistakes:
        scores = set()
        for number in range(12 if slow else 40):
            found = verdict(notebook, exercise, mistake.code, f"seed {number}")
            assert found.mistake == mistake.id
            assert found.message == mistake.explanation
            scores.add(found.score)
        assert len(scores) == 1, (mistake.id, scores)
        assert max(scores) < exercise.points, mistake.id


@every_exercise
def test_what_the_lesson_s_cases_show_does_not_depend_on_the_others(notebook, exercise):
    """So that it can be observed once for the class, and the drawn cases for each submission."""
    for seed in SEEDS[:2]:
        cases = exercise.cases(seed)
        assert notebook.expected(exercise, cases) == [*notebook.observe(exercise, exercise.reference, cases)]
        for mistake in exercise.mistakes:
            together = [*notebook.observe(exercise, mistake.code, cases)]
            assert together[: len(exercise.lesson)] == notebook.observe_lesson(exercise, mistake.code)


@every_function
def test_there_are_variants_and_mistakes_enough(notebook, exercise):
    assert len(exercise.variants) >= 2
    assert len(exercise.mistakes) >= 3
    assert len({exercise.reference, *exercise.variants.values()}) == len(exercise.variants) + 1


def test_there_are_at_least_150_mistakes_with_an_explanation_each():
    mistakes = [mistake for _, exercise in ALL for mistake in exercise.mistakes]
    assert len(mistakes) >= 150
    for _, exercise in ALL:
        assert len({mistake.explanation for mistake in exercise.mistakes}) == len(exercise.mistakes)
    for mistake in mistakes:
        assert 30 <= len(mistake.explanation) <= 500, mistake.id
        assert mistake.explanation.rstrip("\"')").endswith((".", "?", "!")), mistake.id


@every_exercise
def test_cases_are_plain_data_with_a_wording(notebook, exercise):
    cases = exercise.cases("one")
    assert json.loads(json.dumps(cases, allow_nan=False)) == cases
    assert cases == exercise.cases("one")
    for case in cases:
        assert len(exercise.wording(case)) < 300
    if exercise.asks == "function":
        assert exercise.cases("two") != cases
        assert exercise.cases("two")[: len(exercise.lesson)] == list(exercise.lesson)


@every_exercise
def test_the_parts_are_those_that_are_observed(notebook, exercise):
    cases = exercise.cases("one")
    seen = [*notebook.observe(exercise, exercise.reference, cases)]
    assert all(one["error"] is None for one in seen)
    assert {part for one in seen for part in one["parts"]} == set(exercise.parts)
    assert set(exercise.exact) <= set(exercise.parts)
    assert set(exercise.conditions) < set(exercise.parts)


@every_function
def test_a_function_that_does_nothing_earns_nothing(notebook, exercise):
    nothing = "\n".join(f"def {name}(*args, **kwargs):\n    return None\n" for name in exercise.names)
    assert verdict(notebook, exercise, nothing).score == 0


@every_function
@pytest.mark.parametrize("value", ["[]", "{}", "0", "1.0", "''", "['a']"])
def test_a_function_that_returns_the_same_whatever_it_is_given_earns_nothing(notebook, exercise, value):
    code = "\n".join(f"def {name}(*_, **__):\n    return {value}" for name in exercise.names)
    assert verdict(notebook, exercise, code).score == 0


@every_exercise
def test_an_untouched_stub_earns_nothing_and_is_told_so(notebook, exercise):
    if exercise.asks == "function":
        stub = "\n".join(
            f"def {n}(*args, **kwargs):\n    raise NotImplementedError()\n" for n in exercise.names
        )
        found = verdict(notebook, exercise, stub)
        assert "Not answered yet" in found.message
    else:
        found = verdict(notebook, exercise, "")
        assert "not defined" in found.message
    assert found.score == 0


@every_exercise
def test_an_unknown_difference_is_told_in_a_few_lines(notebook, exercise):
    odd = "\n".join(
        f"def {name}(*args, **kwargs):\n    return 'no' * 100\n"
        if exercise.asks == "function"
        else f"{name} = 'no'"
        for name in exercise.names
    )
    found = verdict(notebook, exercise, odd)
    assert found.score == 0
    assert found.mistake is None
    assert 1 <= len(found.message.splitlines()) <= MESSAGE_LINES
    assert any(word in found.message for word in ("Look at: ", " raised ", "wanted"))


def test_another_error_of_the_same_type_is_not_taken_for_a_known_mistake():
    notebook, exercise = find("rate-study")
    words = "def study(rates, updates):\n    return 'fast and slow'\n"
    assert (
        verdict(notebook, exercise, next(m.code for m in exercise.mistakes if m.id == "list")).mistake
        == "list"
    )
    assert verdict(notebook, exercise, words).mistake is None


@every_exercise
def test_a_value_s_answer_is_not_in_the_message(notebook, exercise):
    if exercise.asks == "values":
        found = verdict(notebook, exercise, "\n".join(f"{name} = -987654.5" for name in exercise.names))
        assert "expected:" not in found.message


@every_exercise
def test_every_tolerance_has_its_reason(notebook, exercise):
    assert len(exercise.tolerance.because) > 20


def test_an_edit_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="occurs 2 times"):
        edited("a + a", "a", "b")
    with pytest.raises(ValueError, match="occurs 0 times"):
        edited("a + a", "c", "b")


def test_an_id_that_is_not_declared_is_refused():
    with pytest.raises(KeyError):
        find("value-division")
