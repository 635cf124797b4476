"""A straight line through two points of a curve, as the points move together."""

import math

from explorable import BLUE, INK, ORANGE, Axes, Exploration, choice, curve, label, slider, svg, tag

X = 1.0  # where the slope is wanted
STEPS = [10 ** (-number / 20) * 1.5 for number in range(81)]  # from 1.5 down to 0.00015
FUNCTIONS = {
    "x squared": (lambda x: x**2, lambda x: 2 * x),
    "x cubed": (lambda x: x**3, lambda x: 3 * x**2),
    "1 / x": (lambda x: 1 / x, lambda x: -1 / x**2),
    "the sine of x": (math.sin, math.cos),
}


def difference_quotient(f, x, h):
    """The slope of the line through two points of the curve, h apart."""
    return (f(x + h) - f(x)) / h


def tangent():
    """The exploration: choose a curve, and make h small."""
    box = Axes((60, 30, 590, 260), (0.2, 2.8), (-1, 7))
    picture = svg(
        700,
        350,
        box.frame("x", "f(x)", [0.5, 1, 1.5, 2, 2.5], [0, 2, 4, 6]),
        box.inside(
            tag("path", id="curve", fill="none", stroke=BLUE, stroke_width=2.5),
            tag("path", id="tangent", stroke=INK, stroke_width=1.5, stroke_dasharray="6 4"),
            tag("path", id="secant", stroke=ORANGE, stroke_width=2),
            tag("circle", id="first", r=5, fill=BLUE),
            tag("circle", id="second", r=5, fill=ORANGE),
        ),
        label(80, 55, id="slope", font_size=15),
        label(80, 75, "solid: through both points; dashed: the slope at the point itself", font_size=12),
    )
    xs = [0.2 + 2.6 * number / 120 for number in range(121)]

    def line(slope, height):
        return curve(box.points([(x, height + slope * (x - X)) for x in (0.2, 2.8)]))

    def show(function, h):
        f, slope_of = FUNCTIONS[function]
        slope = difference_quotient(f, X, h)
        return {
            "curve.d": curve(box.points([(x, f(x)) for x in xs])),
            "tangent.d": line(slope_of(X), f(X)),
            "secant.d": line(slope, f(X)),
            "first.cx": f"{box.x(X):.1f}",
            "first.cy": f"{box.y(f(X)):.1f}",
            "second.cx": f"{box.x(X + h):.1f}",
            "second.cy": f"{box.y(f(X + h)):.1f}",
            "slope.text": f"h = {h:.2g}: slope {slope:.5f}",
            "say": sentence(function, h),
        }

    return Exploration(
        "From two points to one",
        [choice("function", "f(x) is", FUNCTIONS), slider("h", "step h", STEPS, 0, "{:.2g}")],
        picture,
        show,
        play="h",
    )


def sentence(function, h):
    """What the picture shows, in words."""
    f, slope_of = FUNCTIONS[function]
    slope, limit = difference_quotient(f, X, h), slope_of(X)
    return (
        f"Through the points at {X:g} and {X + h:.5g} the slope is {slope:.5f}; "
        f"at the point itself it is {limit:.5f}, and {abs(slope - limit):.2g} is missing."
    )
