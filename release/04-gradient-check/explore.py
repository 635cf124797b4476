"""The error of a numerical slope against its step: too large, and too small."""

import math

from explorable import BLUE, INK, ORANGE, Axes, Exploration, choice, curve, label, slider, svg, tag

X = 0.8814  # the lesson's neuron
SLOPE = 1 - math.tanh(X) ** 2
EPSILON = 2.0**-53  # a double is off by this share of itself at most
STEPS = [10 ** (-number / 10) for number in range(5, 141)]


def forward(h):
    """The slope from one side."""
    return (math.tanh(X + h) - math.tanh(X)) / h


def central(h):
    """The slope from both sides."""
    return (math.tanh(X + h) - math.tanh(X - h)) / (2 * h)


def truncation(way, h):
    """What cutting the function's series short costs: its next term, which grows with h."""
    y, slope = math.tanh(X), SLOPE
    if way == "from one side":
        return abs(-2 * y * slope) / 2 * h
    return abs(slope * (6 * y * y - 2)) / 6 * h * h


def rounding(h):
    """What rounding tanh to a double may cost: a share of it, divided by the small h."""
    return EPSILON * math.tanh(X) / h


WAYS = {"from both sides": central, "from one side": forward}


def step_size():
    """The exploration: choose a way, and move h."""
    box = Axes((70, 30, 590, 250), (1e-14, 1), (1e-13, 1), logx=True, logy=True)
    powers = [(10.0**-k, f"1e-{k}") for k in (14, 12, 10, 8, 6, 4, 2)]
    picture = svg(
        700,
        350,
        box.frame(
            "step h (logarithmic)",
            "error of the slope (logarithmic)",
            powers,
            [(10.0**-k, f"1e-{k}") for k in (12, 9, 6, 3)],
        ),
        box.inside(
            tag("path", id="truncation", fill="none", stroke=INK, stroke_dasharray="7 4"),
            tag("path", id="rounding", fill="none", stroke=INK, stroke_dasharray="2 3", stroke_width=1.5),
            tag("path", id="errors", fill="none", stroke=BLUE, stroke_width=1.8),
            tag("path", id="here", stroke=ORANGE, stroke_width=1.5),
            tag("circle", id="point", r=6, fill=ORANGE),
        ),
        label(95, 262, "dotted: rounding"),
        label(650, 222, "dashed: the series cut short", text_anchor="end"),
        label(365, 60, id="error", text_anchor="middle", font_size=15),
    )

    def show(way, h):
        error = max(abs(WAYS[way](h) - SLOPE), 1e-16)
        x, y = box.x(h), box.y(error)
        errors = [(one, max(abs(WAYS[way](one) - SLOPE), 1e-13)) for one in STEPS]
        return {
            "truncation.d": curve(box.points([(one, truncation(way, one)) for one in (1e-14, 1)])),
            "rounding.d": curve(box.points([(one, rounding(one)) for one in (1e-14, 1)])),
            "errors.d": curve(box.points(errors)),
            "here.d": f"M{x:.1f} 30V280",
            "point.cx": f"{x:.1f}",
            "point.cy": f"{y:.1f}",
            "error.text": f"h = {h:.1e}: error {error:.1e}",
            "say": sentence(way, h, error),
        }

    return Exploration(
        "Too large a step, and too small a one",
        [choice("way", "the slope is taken", WAYS), slider("h", "step h", STEPS, 0, "{:.1e}")],
        picture,
        show,
        play="h",
    )


def sentence(way, h, error):
    """What the picture shows, in words."""
    cut, rounded = truncation(way, h), rounding(h)
    cause = "the series cut short costs more" if cut > rounded else "rounding costs more"
    return (
        f"With h = {h:.1e} the slope {way} is wrong by {error:.1e}. There {cause}: "
        f"{cut:.0e} for the series, up to {rounded:.0e} for rounding."
    )
