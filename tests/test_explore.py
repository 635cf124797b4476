"""The explorations: their mathematics, what they show, and what is left without a script."""

import importlib.util
import itertools
import json
import math
import re
import sys
from base64 import b64decode
from functools import cache
from random import Random
from xml.etree import ElementTree

import numpy as np
import pytest

from autograder.beside.engine import Value
from autograder.course import ASSIGNMENTS, BESIDE, assignment, find_course

COURSE = find_course()
CALLS = {
    "01-derivatives": "tangent",
    "02-chain-rule": "graph",
    "03-value-engine": "graph",
    "04-gradient-check": "step_size",
    "05-softmax": "softmax_loss",
    "06-matrix-product": "matrix_shapes",
    "07-gradient-descent": "training",
    "08-learning-rate": "learning_rate",
}
every_exploration = pytest.mark.parametrize("name", CALLS)


@cache
def explore(name):
    """The explore.py of an assignment, as a module of its own name."""
    path = COURSE.notebooks / name / "explore.py"
    spec = importlib.util.spec_from_file_location(f"explore_{name[:2]}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(BESIDE))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BESIDE))
    return module


def value_graph(*, tanh=False):
    a, b, c = Value(2.0), Value(-3.0), Value(10.0)
    product = a * b
    output = (product + c) * (product.tanh() if tanh else -2.0)
    return output, {"a": a, "b": b, "c": c}


@cache
def made(name):
    if name == "03-value-engine":
        output, names = value_graph()
        return explore(name).graph(output, **names)
    return getattr(explore(name), CALLS[name])()


def at(name, **values):
    """What an exploration shows where its controls have these values, and the others stand at first."""
    exploration = made(name)
    positions = [
        control.values.index(values[control.name]) if control.name in values else control.start
        for control in exploration.controls
    ]
    return exploration.seen(*positions)


@every_exploration
def test_the_notebook_calls_it_in_one_line(name):
    one = assignment(name)
    text = (COURSE.notebooks / name / f"{one.notebook}.md").read_text(encoding="utf-8")
    (cell,) = re.findall(r"```\{code-cell\}\nimport explore\n\n(.*?)\n```", text, re.DOTALL)
    *before, call = cell.splitlines()
    assert call.startswith(f"explore.{CALLS[name]}(")
    assert len(before) <= 1


def test_every_assignment_has_one():
    assert list(CALLS) == [one.name for one in ASSIGNMENTS]


@every_exploration
def test_its_page_is_small_and_has_a_picture_without_a_script(name):
    page = made(name)._repr_mimebundle_()["text/html"]
    assert len(page) < 600_000
    image, script = page.split("<script>")
    (source,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', image)
    ElementTree.fromstring(b64decode(source))
    (alt,) = re.findall(r'alt="([^"]+)"', image)
    assert len(alt) > 40
    assert script.count("</script>") == 1
    assert "http" not in script.replace("http://www.w3.org/2000/svg", "")  # nothing comes from a network


@every_exploration
def test_every_slot_is_a_part_of_the_picture(name):
    exploration = made(name)
    parts = {part.get("id") for part in ElementTree.fromstring(exploration.picture).iter()}
    for slot in exploration.slots:
        part, _, attribute = slot.partition(".")
        assert slot == "say" or (part in parts and attribute)
    assert "say" in exploration.slots
    numbers = [str(value) for value in exploration.pool]
    assert not any(value in ("nan", "inf", "-inf") for value in numbers)


@every_exploration
def test_every_move_of_a_control_changes_the_picture_or_says_why_not(name):
    """Each control, from where it stands first, to each of its ends: what is seen and said changes."""
    exploration = made(name)
    starts = [control.start for control in exploration.controls]
    here = exploration.seen(*starts)
    for number, control in enumerate(exploration.controls):
        for end in {0, len(control.values) - 1} - {control.start}:
            there = exploration.seen(*starts[:number], end, *starts[number + 1 :])
            assert there["say"] != here["say"], control.name
            assert there != {**here, "say": there["say"]}, control.name


@every_exploration
def test_frames_come_in_the_order_that_the_script_counts_in(name):
    exploration = made(name)
    data = json.loads(re.search(r"const data = (\{.*?\});\n", exploration._page("")).group(1))
    sizes = [control["values"] for control in data["controls"]]
    assert len(data["frames"]) == math.prod(sizes)
    some = itertools.islice(itertools.product(*map(range, sizes)), 0, None, 97)
    for positions in some:
        frame = 0
        for size, position in zip(sizes, positions, strict=True):
            frame = frame * size + position
        shown = {
            ".".join(slot): data["pool"][index]
            for slot, index in zip(data["slots"], data["frames"][frame], strict=True)
        }
        assert exploration.seen(*positions) == {**exploration.fixed, **shown}


def test_the_secant_s_slope_is_2_plus_h_and_becomes_2():
    module = explore("01-derivatives")
    for h in module.STEPS[::8]:  # (1 + h)^2 - 1 = 2 h + h^2, off by a few roundings over h
        assert module.difference_quotient(lambda x: x**2, 1.0, h) == pytest.approx(2 + h, abs=4e-16 / h)
    for f, slope in module.FUNCTIONS.values():
        assert slope(1.0) == pytest.approx((f(1 + 1e-6) - f(1 - 1e-6)) / 2e-6, rel=1e-8)


def test_the_lesson_s_graph_has_the_lesson_s_gradients():
    seen = at("02-chain-rule", a=2, b=-3, c=10, step=7)
    assert seen["Lv.text"] == "value -8"
    gradients = {name: seen[f"{name}g.text"] for name in "abcdeL"}
    assert gradients == {
        name: f"gradient {slope}" for name, slope in zip("abcdeL", (6, -4, -2, -2, -2, 1), strict=True)
    }
    assert "?" in at("02-chain-rule", step=0)["Lv.text"]


def test_an_engine_s_graph_shows_its_gradients_and_leaves_them_alone():
    output, names = value_graph(tanh=True)
    exploration = explore("03-value-engine").graph(output, **names)
    assert all(value.grad == 0.0 for value in names.values())
    output.backward()
    last = exploration.seen(len(exploration.frames) - 1)
    shown = {
        last[f"n{number}n.text"]: last[f"n{number}g.text"]
        for number in range(len(explore("03-value-engine").in_order(output)))
    }
    for name, value in names.items():
        assert shown[name] == f"grad {value.grad:.4g}"


@pytest.mark.parametrize("seed", range(20))
def test_no_edge_of_an_engine_s_graph_passes_behind_a_node(seed):
    """Random graphs: points along every arrow lie in no node but the two that it joins."""
    random = Random(seed)
    values = [Value(float(number)) for number in range(3)]
    for _ in range(9):
        a, b = random.choices(values, k=2)
        values.append(random.choice([a + b, a * b, a.tanh()]))
    root = ElementTree.fromstring(explore("03-value-engine").graph(values[-1]).picture)
    boxes = [
        [float(part.get(name)) for name in ("x", "y", "width", "height")]
        for part in root.iter("{http://www.w3.org/2000/svg}rect")
    ]
    lines = [part.get("d") for part in root.iter("{http://www.w3.org/2000/svg}path") if part.get("stroke")]
    assert lines
    for line in lines:
        points = [tuple(map(float, point.split())) for point in re.split("[ML]", line)[1:]]
        for (x1, y1), (x2, y2) in itertools.pairwise(points):
            for share in np.linspace(0, 1, 60):
                x, y = x1 + share * (x2 - x1), y1 + share * (y2 - y1)
                assert not any(a < x < a + width and b < y < b + height for a, b, width, height in boxes)


def test_a_graph_that_is_too_large_gets_a_sentence(capsys):
    total = Value(0.0)
    for number in range(40):
        total = total + number
    assert explore("03-value-engine").graph(total) is None
    assert "81 nodes" in capsys.readouterr().out


def test_the_step_s_errors_are_what_truncation_and_rounding_foretell():
    module = explore("04-gradient-check")
    for way, estimate in module.WAYS.items():
        for h in module.STEPS:
            error = abs(estimate(h) - module.SLOPE)
            cut, rounded = module.truncation(way, h), module.rounding(h)
            # tanh is rounded twice, its argument once: four roundings at most; the series' further terms
            # count for less than half of the first one where h is below 0.3
            assert error <= 1.5 * cut + 4 * rounded + 1e-16
    assert abs(module.SLOPE - 0.5) < 1e-4  # the lesson's: 1 - tanh(0.8814)^2


def test_softmax_agrees_with_numpy_and_the_lesson():
    module = explore("05-softmax")
    for logits in ([2.0, 1.0, 0.1], [-3.0, 3.0, 0.5]):
        powers = np.exp(logits)
        p = powers / powers.sum()
        assert module.softmax(logits) == pytest.approx(p, rel=1e-12)
        assert module.loss_of(logits) == pytest.approx(-np.log(p[0]), rel=1e-12)
        assert module.pushes(logits) == pytest.approx(p - [1, 0, 0], rel=1e-12)
    assert module.pushes([2.0, 1.0, 0.1])[0] == pytest.approx(-0.341, abs=5e-4)


def test_the_most_confident_mistake_is_pushed_the_most():
    seen = at("05-softmax", z0=-3.0, z1=1.0, z2=3.0)
    assert "the third, the more confident one" in seen["say"]
    assert float(seen["push2n.text"]) > float(seen["push1n.text"])


def test_shapes_and_counts_are_numpy_s():
    module = explore("06-matrix-product")
    for n, d, k in itertools.product((1, 2, 5), (1, 3, 4), (1, 2, 6)):
        x, w = np.ones((n, d)), np.ones((d, k))
        dy = np.ones((n, k))
        expected = {"X": x, "W": w, "Y": x @ w, "dX": dy @ w.T, "dW": x.T @ dy, "dY": dy}
        assert module.shapes(n, d, k) == {name: one.shape for name, one in expected.items()}
        products = sum(1 for _ in itertools.product(range(n), range(k), range(d)))
        assert module.operations(n, d, k) == (products, products - n * k)


def test_training_s_first_step_and_its_end_are_the_lesson_s():
    module = explore("07-gradient-descent")
    assert module.loss_of(0.0, 0.0) == 21.0
    assert module.gradient_of(0.0, 0.0) == (-17.0, -8.0)
    path = module.train(clearing=True)
    w, b = path[1]
    assert (w, b) == pytest.approx((0.05 * 17, 0.05 * 8))
    assert module.loss_of(*path[-1]) < 1e-2
    forgetful = [module.loss_of(*place) for place in module.train(clearing=False)]
    assert max(forgetful[50:]) > 10  # it swings, and never settles
    assert min(forgetful[50:]) < 0.1


@pytest.mark.parametrize(
    ("rate", "outcome"), [(0.05, "glides"), (0.2, "swings"), (0.238, "leaves"), (0.3, "leaves")]
)
def test_the_learning_rates_of_the_lesson_do_what_it_says(rate, outcome):
    module = explore("08-learning-rate")
    steep, flat = module.curvatures()
    assert steep == pytest.approx(8.40512484, abs=1e-8)
    assert flat == pytest.approx(np.linalg.eigvalsh([[7, 3], [3, 2]])[0], rel=1e-12)
    assert module.behaviour(rate) == outcome
    words = next(words for words, one in module.PREDICTIONS.items() if one == outcome)
    seen = at("08-learning-rate", prediction=words, rate=rate)
    assert seen["say"].startswith("Right.")
    assert seen["rates.text"] == f"factors of one step: {1 - rate * steep:.4f} and {1 - rate * flat:.4f}"
    wrong = next(words for words, one in module.PREDICTIONS.items() if one not in (None, outcome))
    assert at("08-learning-rate", prediction=wrong, rate=rate)["say"].startswith("Not so.")


def test_before_a_prediction_nothing_is_given_away():
    shown = {
        at("08-learning-rate", prediction="not yet", rate=rate)["loss.d"]
        for rate in explore("08-learning-rate").RATES
    }
    assert len(shown) == 1


def test_descent_s_losses_are_those_of_exercises():
    """The loss is a square form: along each axis of the bowl it shrinks by the factor's square a step."""
    module = explore("08-learning-rate")
    values, axes = np.linalg.eigh([[7, 3], [3, 2]])
    away = axes.T @ np.array([-2.0, -1.0])
    for rate in (0.05, 0.2, 0.238, 0.3):
        path = module.descend(rate)
        for steps in (1, 10, 50):
            expected = 0.5 * sum(values * (away * (1 - rate * values) ** steps) ** 2)
            assert module.loss_of(*path[steps]) == pytest.approx(expected, rel=1e-9, abs=1e-12)
