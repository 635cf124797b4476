"""What descent does at every learning rate from 0.001 to 0.3, under one slider."""

import math

from explorable import BLUE, GREEN, INK, ORANGE, Axes, Exploration, choice, curve, label, slider, svg, tag

XS, YS = [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0]
STEPS = 60
RATES = [0.001 * 300 ** (number / 150) for number in range(151)]
for known in (0.05, 0.2, 0.238):  # the rates that the notebook speaks of are among them, exactly
    RATES[min(range(151), key=lambda number: abs(math.log(RATES[number] / known)))] = known
RATES[-1] = 0.3


def loss_of(w, b):
    """The mean squared error of the line w x + b."""
    return sum((w * x + b - y) ** 2 for x, y in zip(XS, YS)) / len(XS)


def gradient_of(w, b):
    """Its two slopes."""
    errors = [w * x + b - y for x, y in zip(XS, YS)]
    return 2 * sum(e * x for e, x in zip(errors, XS)) / len(XS), 2 * sum(errors) / len(XS)


def curvatures():
    """The largest and the smallest curvature of the bowl: the eigenvalues of its second derivatives."""
    ww, wb, bb = 2 * sum(x * x for x in XS) / len(XS), 2 * sum(XS) / len(XS), 2.0
    middle, spread = (ww + bb) / 2, math.hypot((ww - bb) / 2, wb)
    return middle + spread, middle - spread


def descend(rate):
    """The places (w, b) that descent from (0, 0) visits, the start among them."""
    path = [(0.0, 0.0)]
    for _ in range(STEPS):
        w, b = path[-1]
        dw, db = gradient_of(w, b)
        path.append((w - rate * dw, b - rate * db))
    return path


def behaviour(rate):
    """What the steeper direction does: its factor for one step decides."""
    factor = 1 - rate * curvatures()[0]
    if factor < -1:
        return "leaves"
    return "swings" if factor < 0 else "glides"


PREDICTIONS = {
    "not yet": None,
    "it glides into the bowl": "glides",
    "it swings, and settles": "swings",
    "it swings, and leaves": "leaves",
}
OUTCOMES = {
    "glides": "glides into the bowl without swinging",
    "swings": "swings from side to side, and settles",
    "leaves": "swings wider with every step, and leaves",
}


def verdict(rate, predicted):
    """What the reader is told about the prediction."""
    limit = 2 / curvatures()[0]
    if predicted is None:
        return f"Rate {rate:.3g}. What will descent do? Predict it first; then the picture shows it."
    came, close = behaviour(rate), abs(rate / limit - 1) < 0.02
    final = loss_of(*descend(rate)[-1])
    fact = f"At {rate:.3g} descent {OUTCOMES[came]}; the loss after {STEPS} steps is {final:.3g}."
    if came == predicted:
        return f"Right. {fact}" + (" So close to the limit that is well predicted." if close else "")
    near = " It was a near thing: the limit is within 2 %." if close else ""
    return f"Not so. {fact}{near} The limit is {limit:.4g}, and swinging begins at half of it."


def learning_rate():
    """The exploration: predict, then move the rate."""
    bowl = Axes((50, 30, 270, 250), (-1, 5), (-2, 4))
    losses = Axes((400, 30, 270, 110), (0, STEPS), (1e-6, 1e4), logy=True)
    scale = Axes((400, 215, 270, 20), (0.001, 0.3), (0, 1), logx=True)
    factors = Axes((400, 292, 270, 20), (-2, 2), (0, 1))
    steep, flat = curvatures()

    def ring(level):
        """The ellipse where the loss is `level`, around its bottom at (2, 1)."""
        angle = math.atan2(steep - 2 * sum(x * x for x in XS) / len(XS), 2 * sum(XS) / len(XS))
        turned = []
        for step in range(73):
            turn = math.tau * step / 72
            along = math.sqrt(2 * level / steep) * math.cos(turn)
            across = math.sqrt(2 * level / flat) * math.sin(turn)
            turned.append(
                (
                    2 + along * math.cos(angle) - across * math.sin(angle),
                    1 + along * math.sin(angle) + across * math.cos(angle),
                )
            )
        return tag("path", d=curve(bowl.points(turned)), fill="none", stroke=INK, stroke_width=0.5)

    limit = scale.x(2 / steep)
    picture = svg(
        700,
        350,
        bowl.frame("slope w", "intercept b: the path in the bowl", [0, 2, 4], [-2, 0, 2, 4]),
        bowl.inside(
            *map(ring, [0.05, 0.5, 2, 5, 10, 20]),
            tag("path", id="path", fill="none", stroke=BLUE, stroke_width=1.8),
            tag("circle", id="end", r=5, fill=ORANGE),
        ),
        losses.frame(
            "steps", "loss, logarithmic", [0, 20, 40, 60], [(1e-6, "1e-6"), (1e-1, "0.1"), (1e4, "1e4")]
        ),
        losses.inside(tag("path", id="loss", fill="none", stroke=ORANGE, stroke_width=1.8)),
        scale.frame("", "your rate, and the limit 2 / a (logarithmic)", [0.001, 0.01, 0.1], []),
        tag("path", d=f"M{limit:.1f} 209V241", stroke=ORANGE, stroke_width=3),
        tag("circle", id="rate", cy=225, r=6, fill=BLUE),
        factors.frame("", "factors 1 - rate a: steep (circle), flat (square)", [-2, -1, 0, 1, 2], []),
        tag(
            "rect",
            x=factors.x(-1),
            y=292,
            width=factors.x(1) - factors.x(-1),
            height=20,
            fill=GREEN,
            opacity=0.25,
        ),
        tag("circle", id="steep", cy=302, r=6, fill=ORANGE),
        tag("rect", id="flat", y=296, width=12, height=12, fill=BLUE),
        label(50, 335, id="rates", font_size=12),
    )
    paths = {rate: descend(rate) for rate in RATES}

    def show(prediction, rate):
        predicted, path = PREDICTIONS[prediction], paths[rate]
        shown = path if predicted else path[:1]
        one, two = (1 - rate * a for a in (steep, flat))
        return {
            "path.d": curve(bowl.points(shown)),
            "end.cx": f"{bowl.x(shown[-1][0]):.1f}",
            "end.cy": f"{bowl.y(shown[-1][1]):.1f}",
            "loss.d": curve((losses.x(k), losses.y(loss_of(*place))) for k, place in enumerate(shown)),
            "rate.cx": f"{scale.x(rate):.1f}",
            "steep.cx": f"{factors.x(one if predicted else 1):.1f}",
            "flat.x": f"{factors.x(two if predicted else 1) - 6:.1f}",
            "rates.text": f"factors of one step: {one:.4f} and {two:.4f}" if predicted else "",
            "say": verdict(rate, predicted),
        }

    return Exploration(
        "Predict, then move the learning rate",
        [
            choice("prediction", "At this rate,", PREDICTIONS),
            slider("rate", "learning rate", RATES, start=RATES.index(0.05), text="{:.3g}"),
        ],
        picture,
        show,
    )
