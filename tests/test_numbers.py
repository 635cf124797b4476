"""Every number of the contract, computed twice: by the instructor's notebooks and independently.

The independent computation uses neither the course's engine nor its references: closed forms,
fractions, complex steps, or NumPy where the course uses scalars.
"""

import cmath
import math
from fractions import Fraction
from functools import cache

import nbformat
import numpy as np
import pytest

from autograder.beside.engine import Value
from autograder.course import ASSIGNMENTS, BESIDE, assignment, find_course

COURSE = find_course()
XS, YS = (0.0, 1.0, 2.0, 3.0), (1.0, 3.0, 5.0, 7.0)
NOISY = (1.2, 2.7, 5.3, 6.9)
COMPLEX_STEP = 1e-30  # f(x + ih) / h has no subtraction, so its step can vanish below rounding


@cache
def instructor(name: str) -> dict:
    """The names of an instructor's notebook, run from top to bottom, hidden tests included."""
    import sys

    one = assignment(name)
    notebook = nbformat.read(COURSE.source / one.name / one.file, as_version=4)
    names = {"__name__": "notebook"}
    beside = [str(COURSE.source / one.name), str(BESIDE)]
    sys.path[:0] = beside
    sys.modules.pop("explore", None)  # every notebook has one of its own
    try:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, f"{one.file}: {cell.id}", "exec"), names)
    finally:
        for folder in beside:
            sys.path.remove(folder)
    return names


def partials(f, *point):
    """The derivatives of an analytic `f`, exact to rounding, by a complex step."""
    moved = [[x + 1j * COMPLEX_STEP * (i == k) for k, x in enumerate(point)] for i in range(len(point))]
    return [f(*one).imag / COMPLEX_STEP for one in moved]


def approx(value, digits):
    """As equal as `digits` decimals can tell."""
    return pytest.approx(value, rel=0, abs=0.5000001 * 10**-digits)


@pytest.mark.parametrize("one", ASSIGNMENTS, ids=lambda one: one.name)
def test_the_instructor_s_notebook_runs_from_top_to_bottom(one):
    assert instructor(one.name)


class TestDerivatives:
    names = property(lambda self: instructor("01-derivatives"))

    def test_quotient(self):
        exact = (Fraction(301, 100) ** 2 - 9) / Fraction(1, 100)
        assert exact == Fraction(601, 100)
        assert self.names["difference_quotient"](lambda x: x * x, 3, 0.01) == pytest.approx(
            float(exact), rel=1e-12
        )

    def test_slopes_rise_and_direction(self):
        assert partials(lambda x: x * x, 3) == [6]
        assert partials(lambda x: x * x, -2) == [-4]
        assert [self.names["d_square"](x) for x in (3, -2)] == [6, -4]
        assert self.names["rise"] == pytest.approx(0.06, rel=1e-15)
        assert self.names["moves"] == "right"


class TestChainRule:
    names = property(lambda self: instructor("02-chain-rule"))

    def test_forward_and_rates(self):
        assert (
            [self.names[name] for name in "def"] == [2 * -3, 2 * -3 + 10, (2 * -3 + 10) * -2] == [-6, 4, -8]
        )
        assert self.names["dz_dx"] == 3 * 2 == 6

    def test_local_and_backward(self):
        local = [self.names[name] for name in ("df_de", "de_dd", "de_dc", "dd_da", "dd_db")]
        by_e, by_d_c, by_a_b = (
            partials(lambda e: e * -2, 4),
            partials(lambda d, c: d + c, -6, 10),
            partials(lambda a, b: a * b, 2, -3),
        )
        assert local == [*by_e, *by_d_c, *by_a_b] == [-2, 1, 1, -3, 2]
        gradient = partials(lambda a, b, c: (a * b + c) * -2, 2, -3, 10)
        assert gradient == [6, -4, -2]
        assert [self.names[name] for name in ("df_da", "df_db", "df_dc")] == gradient
        assert self.names["df_dd"] == partials(lambda d: (d + 10) * -2, -6)[0] == -2

    def test_reuse(self):
        assert self.names["d_reused"](3) == partials(lambda x: x * x + 2 * x, 3)[0] == 8
        assert self.names["d_output"] == partials(lambda u: 3 * u + u * u, 2)[0] == 7

    def test_two_layers(self):
        exact = partials(lambda w1, w2, x: cmath.tanh(w2 * cmath.tanh(w1 * x)), 0.5, -1.5, 2)
        assert list(self.names["two_layer_gradient"](0.5, -1.5, 2)) == pytest.approx(exact, rel=1e-12)
        # The contract's third number is rounded up in its last digit: -0.105650864 is exact.
        assert exact == pytest.approx([-0.42260345, 0.25545396, -0.10565087], abs=1e-8)
        assert math.tanh(-1.5 * math.tanh(1.0)) == approx(-0.81521773, 8)


def engine_of_notebook_3():
    return instructor("03-value-engine")["Value"]


@pytest.mark.parametrize("engine", [lambda: Value, engine_of_notebook_3], ids=["engine.py", "notebook 3"])
class TestEngine:
    def test_the_three_gradients(self, engine):
        V = engine()
        a, b, c = V(2.0), V(-3.0), V(10.0)
        f = (a * b + c) * -2
        f.backward()
        assert (f.data, a.grad, b.grad, c.grad) == (-8, 6, -4, -2)
        x = V(3.0)
        y = x * x + 2 * x
        y.backward()
        assert (y.data, x.grad) == (15, 8)
        a, b = V(2.0), V(3.0)
        c, d = a + b, a * b
        ((c + d) + c * d).backward()
        assert (
            [a.grad, b.grad] == partials(lambda a, b: (a + b + a * b) + (a + b) * (a * b), 2, 3) == [25, 19]
        )

    def test_the_neuron_s_five(self, engine):
        V = engine()
        values = [V(x) for x in (-3.0, 1.0, 6.8814, 2.0, 0.0)]
        w1, w2, bias, x1, x2 = values
        out = (w1 * x1 + w2 * x2 + bias).tanh()
        out.backward()
        exact = partials(
            lambda w1, w2, bias, x1, x2: cmath.tanh(w1 * x1 + w2 * x2 + bias), -3, 1, 6.8814, 2, 0
        )
        assert [one.grad for one in values] == pytest.approx(exact, rel=1e-12)
        assert exact == approx([0.9999626, 0.0, 0.4999813, -1.4999440, 0.4999813], 7)
        assert out.data == approx(0.70712, 5)

    def test_a_chain_of_100_000_nodes(self, engine):
        x = engine()(1.0)
        y = x
        for _ in range(100_000):
            y = y + 1
        y.backward()
        assert (y.data, x.grad) == (100_001, 1)


def test_the_engine_is_about_sixty_lines_and_shown_whole():
    text = (BESIDE / "engine.py").read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and not line.strip().startswith('"""')]
    assert len(code) <= 75
    whole = text[text.index("import math") :].strip()
    one = assignment("03-value-engine")
    notebook = nbformat.read(COURSE.release / one.name / one.file, as_version=4)
    position = next(n for n, cell in enumerate(notebook.cells) if cell.source.strip() == whole)
    last = max(n for n, cell in enumerate(notebook.cells) if cell.metadata.get("nbgrader", {}).get("grade"))
    assert position > last


class TestGradientCheck:
    names = property(lambda self: instructor("04-gradient-check"))

    def test_neuron(self):
        V = self.names["Value"]
        assert self.names["neuron"](*map(V, (-3.0, 1.0, 6.8814, 2.0, 0.0))).data == approx(0.70712, 5)

    def test_six_decimals(self):
        def plain(values):
            w1, w2, bias, x1, x2 = values
            return math.tanh(w1 * x1 + w2 * x2 + bias)

        point = [-3.0, 1.0, 6.8814, 2.0, 0.0]
        numeric = [self.names["central_difference"](plain, point, i) for i in range(5)]
        assert numeric == approx([0.999963, 0.0, 0.499981, -1.499944, 0.499981], 6)

    def test_best_step(self):
        exact = partials(lambda w1: cmath.tanh(w1 * 2 + 6.8814), -3)[0]

        def error(h):
            up, down = math.tanh((-3 + h) * 2 + 6.8814), math.tanh((-3 - h) * 2 + 6.8814)
            return abs((up - down) / (2 * h) - exact)

        best = min((10.0**-k for k in range(1, 13)), key=error)
        assert math.log10(best) == pytest.approx(-5, abs=0.1) or math.log10(best) == pytest.approx(
            -6, abs=0.1
        )
        assert self.names["best_h"] in (1e-5, 1e-6)

    def test_relu(self):
        assert list(self.names["relu_gradients"]) == [1, 0]


class TestSoftmax:
    names = property(lambda self: instructor("05-softmax"))

    def test_probabilities_loss_and_gradient(self):
        weights = np.exp(np.array([2, 1, 0.1], dtype=np.longdouble))
        p = weights / weights.sum()
        assert list(map(float, p)) == approx([0.65900114, 0.24243297, 0.09856589], 8)
        assert list(self.names["softmax"]([2.0, 1.0, 0.1])) == pytest.approx(list(map(float, p)), rel=1e-12)
        loss = float(-np.log(p[0]))
        assert loss == approx(0.41703002, 8)
        assert self.names["cross_entropy"]([2.0, 1.0, 0.1], 0) == pytest.approx(loss, rel=1e-12)
        V = self.names["Value"]
        z = [V(x) for x in (2.0, 1.0, 0.1)]
        out = self.names["softmax_loss"](z, 0)
        out.backward()
        exact = partials(lambda a, b, c: -cmath.log(cmath.exp(a) / sum(map(cmath.exp, (a, b, c)))), 2, 1, 0.1)
        assert [one.grad for one in z] == pytest.approx(exact, rel=1e-9)
        assert exact == approx([-0.34099886, 0.24243297, 0.09856589], 8)
        assert out.data == pytest.approx(loss, rel=1e-12)
        assert list(self.names["softmax_gradient"]([2.0, 1.0, 0.1], 0)) == pytest.approx(exact, rel=1e-9)

    def test_by_hand_and_certain(self):
        assert list(self.names["hand_gradient"]) == pytest.approx([0.1, 0.7 - 1, 0.2], abs=1e-12)
        assert list(self.names["certain_gradient"]) == [1 - 1, 0, 0]


class TestMatrixProduct:
    names = property(lambda self: instructor("06-matrix-product"))

    def test_shapes_and_objects(self):
        shapes = self.names["product_shapes"]((32, 128), (128, 512))
        x, w = np.empty((32, 128)), np.empty((128, 512))
        assert (
            [tuple(one) for one in shapes]
            == [(x @ w).shape, w.shape, x.shape]
            == [(32, 512), (128, 512), (32, 128)]
        )
        assert self.names["scalar_products"](300, 300, 300) == 300 * 300 * 300 == 27_000_000

    def test_largest_error(self):
        rng = np.random.default_rng(0)
        X, W, T = (rng.standard_normal(shape) for shape in ((4, 3), (3, 2), (4, 2)))
        exact = np.einsum("nd,nk->dk", X, X @ W - T)
        numeric = np.zeros_like(W)
        for index in np.ndindex(W.shape):
            step = np.zeros_like(W)
            step[index] = 1e-6
            up, down = (0.5 * ((X @ moved - T) ** 2).sum() for moved in (W + step, W - step))
            numeric[index] = (up - down) / 2e-6
        error = np.abs(exact - numeric).max()
        assert 0 < error < 1e-8
        assert 0 < self.names["largest_error"] < 1e-8
        assert f"{error:.1e}" == "1.9e-09"


def descend(rate, steps, ys=YS, clear=True):
    """Gradient descent on the mean squared error, by NumPy: rows (loss, w, b) before each update."""
    x, y = np.array(XS), np.array(ys)
    w = b = gw = gb = 0.0
    rows = []
    for _ in range(steps + 1):
        error = w * x + b - y
        rows.append((float((error**2).mean()), w, b))
        gw = 2 * (error * x).mean() + (0 if clear else gw)
        gb = 2 * error.mean() + (0 if clear else gb)
        w, b = w - rate * gw, b - rate * gb
    return rows


class TestGradientDescent:
    names = property(lambda self: instructor("07-gradient-descent"))
    steps = (0, 1, 2, 10, 50, 100, 200)

    def test_the_training_table(self):
        rows = self.names["train"](0.05, 200, list(XS), list(YS))
        assert len(rows) == 201
        independent = descend(0.05, 200)
        for step in self.steps:
            assert rows[step][0] == step
            assert rows[step][1:] == pytest.approx(independent[step], rel=1e-6, abs=1e-12)
        losses, slopes, intercepts = zip(*(independent[step] for step in self.steps), strict=True)
        assert losses[:4] == approx((21.0, 7.0588, 2.3730, 0.0009), 4)
        assert losses[4] == approx(0.00005, 5)
        assert losses[5:] == pytest.approx((2.3e-6, 5.5e-9), rel=0.02)
        assert slopes == approx((0, 0.85, 1.3425, 2.0093, 2.0054, 2.0012, 2.0001), 4)
        assert intercepts == approx((0, 0.4, 0.6325, 0.9576, 0.9885, 0.9975, 0.9999), 4)

    def test_the_first_loss(self):
        V = self.names["Value"]
        loss = self.names["mean_squared_error"](V(0.0), V(0.0), list(XS), list(YS))
        assert loss.data == Fraction(1 + 9 + 25 + 49, 4) == 21

    def test_without_clearing(self):
        rows = self.names["train_without_clearing"](0.05, 200, list(XS), list(YS))
        losses = [row[0] for row in descend(0.05, 200, clear=False)]
        assert [row[1] for row in rows] == pytest.approx(losses, rel=1e-6)
        assert losses[200] == approx(19.5208, 4)
        assert min(losses) == approx(0.003, 3)
        assert max(losses) == approx(23.5, 1)
        assert max(losses[100:]) > 15  # it never settles

    def test_noisy(self):
        w, b = np.polyfit(XS, NOISY, 1)
        loss = float(((w * np.array(XS) + b - np.array(NOISY)) ** 2).mean())
        assert (w, b, loss) == (approx(1.97, 6), approx(1.07, 6), approx(0.05575, 6))
        assert list(self.names["noisy_fit"]) == pytest.approx([w, b, loss], abs=1e-4)


class TestLearningRate:
    names = property(lambda self: instructor("08-learning-rate"))
    rates = (0.001, 0.01, 0.05, 0.1, 0.2, 0.3)
    after_99 = (3.949, 3.000e-4, 2.471e-6, 5.195e-9, 1.250e-14, 2.595e37)
    after_100 = (3.883, 2.964e-4, 2.326e-6, 4.595e-9, 9.706e-15, 6.008e37)

    @pytest.mark.parametrize(("updates", "table"), [(99, after_99), (100, after_100)])
    def test_both_readings_of_the_table(self, updates, table):
        study = self.names["study"](list(self.rates), updates)
        for rate, stated in zip(self.rates, table, strict=True):
            independent = descend(rate, updates)[-1][0]
            # 1.25e-14 is what rounding leaves of a sum of squares near 1e-7: its fourth digit moves.
            assert independent == pytest.approx(stated, rel=2e-3)
            assert study[rate] == pytest.approx(stated, rel=2e-3)

    def test_the_lesson_s_own_figures_are_those_after_99_updates(self):
        lesson = (3.95, 0.0003, 0.0000025, 0.000000005, 1e-14, 2.6e37)
        for stated, computed in zip(lesson, self.after_99, strict=True):
            assert computed == pytest.approx(stated, rel=0.3)

    def test_curvatures_and_limits(self):
        x = np.array(XS)
        second = np.array([[2 * (x**2).mean(), 2 * x.mean()], [2 * x.mean(), 2]])
        assert second.tolist() == [[7, 3], [3, 2]]
        trace, determinant = 9, 5
        root = math.sqrt(trace**2 - 4 * determinant)
        steep, flat = (trace + root) / 2, (trace - root) / 2
        assert (steep, flat) == (approx(8.40512484, 8), approx(0.59487516, 8))
        assert self.names["steepest_curvature"](list(XS)) == pytest.approx(steep, rel=1e-12)
        assert 2 / steep == approx(0.23795006, 8)
        assert self.names["largest_stable_rate"](40) == 0.05
        assert self.names["largest_stable_rate"](steep) == pytest.approx(2 / steep, rel=1e-15)
        for rate, word in ((0.2379, "converges"), (0.238, "diverges"), (0.24, "diverges")):
            assert (
                self.names["behaviour"](rate, steep)
                == word
                == ("converges" if rate < 2 / steep else "diverges")
            )

    def test_near_the_edge(self):
        assert descend(0.238, 100)[-1][0] == approx(22.8, 1)
        assert descend(0.2379, 100)[-1][0] == approx(19.3, 1)
        assert descend(0.24, 100)[-1][0] == approx(640, 0)
        rows = descend(0.238, 100)
        assert (rows[100][0] / rows[99][0] - 1) * 100 == approx(0.08, 2)
