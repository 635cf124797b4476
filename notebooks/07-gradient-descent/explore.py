"""Training a line, a step at a time: the line, the loss, and the path to the bottom of the bowl."""

import math

from explorable import BLUE, INK, ORANGE, Axes, Exploration, choice, curve, label, slider, svg, tag

XS, YS = [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0]
RATE, STEPS = 0.05, 100
CLEARING = {"cleared before each step": True, "never cleared": False}


def loss_of(w, b):
    """The mean squared error of the line w x + b."""
    return sum((w * x + b - y) ** 2 for x, y in zip(XS, YS)) / len(XS)


def gradient_of(w, b):
    """Its two slopes."""
    errors = [w * x + b - y for x, y in zip(XS, YS)]
    return 2 * sum(e * x for e, x in zip(errors, XS)) / len(XS), 2 * sum(errors) / len(XS)


def train(clearing):
    """The places (w, b) before each step and after the last; without clearing, gradients add up."""
    w, b, w_grad, b_grad = 0.0, 0.0, 0.0, 0.0
    path = [(w, b)]
    for _ in range(STEPS):
        dw, db = gradient_of(w, b)
        w_grad, b_grad = (dw, db) if clearing else (w_grad + dw, b_grad + db)
        w, b = w - RATE * w_grad, b - RATE * b_grad
        path.append((w, b))
    return path


def ring(level):
    """Places around (2, 1) where the loss is `level`."""
    places = []
    for step in range(73):
        along, across = math.cos(math.tau * step / 72), math.sin(math.tau * step / 72)
        # the loss is a square form in (w - 2, b - 1): its size in this direction gives the distance
        size = loss_of(2 + along, 1 + across)
        places.append((2 + along * math.sqrt(level / size), 1 + across * math.sqrt(level / size)))
    return places


def training():
    """The exploration: play through the training, with clearing and without."""
    data = Axes((50, 30, 280, 200), (-0.2, 3.2), (-2, 10))
    bowl = Axes((390, 30, 280, 200), (-2, 6), (-2, 4))
    losses = Axes((50, 290, 620, 100), (0, STEPS), (1e-4, 1e2), logy=True)
    picture = svg(
        700,
        440,
        data.frame("x", "the points, and the line", [0, 1, 2, 3], [0, 5, 10]),
        data.inside(
            tag("path", id="line", stroke=ORANGE, stroke_width=2.5),
            *(tag("circle", cx=data.x(x), cy=data.y(y), r=5, fill=BLUE) for x, y in zip(XS, YS)),
        ),
        bowl.frame("slope w", "intercept b: the path in the bowl", [0, 2, 4], [-2, 0, 2, 4]),
        bowl.inside(
            *(
                tag("path", d=curve(bowl.points(ring(level))), fill="none", stroke=INK, stroke_width=0.5)
                for level in (0.05, 0.5, 2, 5, 10, 20)
            ),
            tag("path", id="path", fill="none", stroke=BLUE, stroke_width=1.8),
            tag("circle", id="place", r=5, fill=ORANGE),
        ),
        losses.frame(
            "step",
            "loss, logarithmic",
            [0, 20, 40, 60, 80, 100],
            [(1e-4, "0.0001"), (1e-1, "0.1"), (1e2, "100")],
        ),
        losses.inside(
            tag("path", id="losses", fill="none", stroke=INK, stroke_width=1, stroke_dasharray="4 3"),
            tag("path", id="sofar", fill="none", stroke=BLUE, stroke_width=2.5),
            tag("circle", id="now", r=5, fill=ORANGE),
        ),
        label(70, 55, id="numbers", font_size=12),
    )
    paths = {words: train(clearing) for words, clearing in CLEARING.items()}

    def show(gradients, step):
        path = paths[gradients]
        (w, b), heights = path[step], [(number, loss_of(*place)) for number, place in enumerate(path)]
        x, y = losses.points([heights[step]])[0]
        return {
            "line.d": curve(data.points([(one, w * one + b) for one in (-0.2, 3.2)])),
            "path.d": curve(bowl.points(path[: step + 1])),
            "place.cx": f"{bowl.x(w):.1f}",
            "place.cy": f"{bowl.y(b):.1f}",
            "losses.d": curve(losses.points(heights)),
            "sofar.d": curve(losses.points(heights[: step + 1])),
            "now.cx": f"{x:.1f}",
            "now.cy": f"{y:.1f}",
            "numbers.text": f"w = {w:.3f}, b = {b:.3f}, loss {heights[step][1]:.4g}",
            "say": f"After {step} steps with gradients {gradients}: w = {w:.4f}, b = {b:.4f}, "
            f"loss {heights[step][1]:.4g}. The points lie on 2 x + 1.",
        }

    return Exploration(
        "Play through the training, rate 0.05",
        [choice("gradients", "gradients", CLEARING), slider("step", "step", range(STEPS + 1), 0, "{:d}")],
        picture,
        show,
        play="step",
    )
