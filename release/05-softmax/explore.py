"""Three logits on sliders: the probabilities, the target, and the push on each logit."""

import math

from explorable import BLUE, FAINT, GREY, INK, ORANGE, Axes, Exploration, label, slider, svg, tag

LOGITS = [number / 2 for number in range(-6, 7)]
TARGET = 0  # the token that really comes next is the first
NAMES = ["first", "second", "third"]


def softmax(logits):
    """The probabilities, with the largest logit subtracted so that no power overflows."""
    top = max(logits)
    powers = [math.exp(z - top) for z in logits]
    return [power / sum(powers) for power in powers]


def loss_of(logits):
    """Minus the logarithm of the target's probability: log(sum of powers) minus its logit."""
    top = max(logits)
    return top + math.log(sum(math.exp(z - top) for z in logits)) - logits[TARGET]


def pushes(logits):
    """The loss's slope by each logit: p - y."""
    return [p - (number == TARGET) for number, p in enumerate(softmax(logits))]


def softmax_loss():
    """The exploration: three logits, nine bars, one loss."""
    box = Axes((60, 30, 600, 250), (-0.5, 2.5), (-1.1, 1.2))
    zero = box.y(0)
    bars = [("p", -0.26, BLUE), ("y", 0.0, GREY), ("push", 0.26, ORANGE)]
    width = 44

    def place(token, shift):
        return box.x(token + shift) - width / 2

    parts = []
    for token in range(3):
        for name, shift, colour in bars:
            x = place(token, shift)
            parts.append(tag("rect", id=f"{name}{token}", x=f"{x:.1f}", width=width, fill=colour))
            middle = f"{x + width / 2:.1f}"
            parts.append(label(middle, 0, id=f"{name}{token}n", text_anchor="middle", font_size=11))
            below = {"p": "p", "y": "y", "push": "p - y"}[name]
            parts.append(label(middle, 297, below, text_anchor="middle", font_size=11))
        named = f"{NAMES[token]} token" + (", the target" if token == TARGET else "")
        parts.append(label(box.x(token), 316, named, text_anchor="middle"))
    picture = svg(
        700,
        350,
        box.frame("", "probability p, target y, and the push p - y", [], [-1, -0.5, 0, 0.5, 1]),
        tag("path", d=f"M60 {zero}H660", stroke=INK, stroke_width=0.8),
        tag("path", d="M260 30V280M460 30V280", stroke=FAINT),
        *parts,
        label(60, 342, id="loss"),
    )

    def bar(name, token, value):
        """A bar from zero to `value`, and its number at the bar's end."""
        end = box.y(value)
        number = end - 5 if value >= 0 else end + 13
        return {
            f"{name}{token}.y": f"{min(end, zero):.1f}",
            f"{name}{token}.height": f"{max(abs(end - zero), 0.5):.1f}",
            f"{name}{token}n.y": f"{number:.1f}",
            f"{name}{token}n.text": f"{value:.2f}",
        }

    def show(z0, z1, z2):
        logits = [z0, z1, z2]
        probabilities, push = softmax(logits), pushes(logits)
        seen = {}
        for token in range(3):
            seen |= bar("p", token, probabilities[token]) | bar("y", token, float(token == TARGET))
            seen |= bar("push", token, push[token])
        seen["loss.text"] = f"loss = -log p of the target = {loss_of(logits):.3f}"
        seen["say"] = sentence(logits)
        return seen

    sliders = [
        slider(f"z{number}", f"logit of the {name}", LOGITS, start)
        for number, (name, start) in enumerate(zip(NAMES, [10, 8, 6]))
    ]
    return Exploration("Three logits and what pushes them", sliders, picture, show)


def sentence(logits):
    """What the picture shows, in words."""
    p, push = softmax(logits), pushes(logits)
    numbers = ", ".join(f"{one:.2f}" for one in p)
    wrong = max((1, 2), key=lambda token: push[token])
    words = f"Probabilities {numbers}; loss {loss_of(logits):.3f}. "
    if math.isclose(p[1], p[2], abs_tol=1e-12):
        return words + f"The two wrong tokens are pushed down alike, by {push[1]:.2f} each."
    down = f"Of the wrong tokens the {NAMES[wrong]}, the more confident one, is pushed down the most, by "
    return f"{words}{down}{push[wrong]:.2f}; the target is pushed up by {-push[TARGET]:.2f}."
