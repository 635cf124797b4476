"""The graph of L = (a * b + c) * (-2), forward and then backward, a step at a time."""

from explorable import BLUE, ORANGE, Exploration, edge, node, slider, svg

PLACES = {"a": (60, 60), "b": (60, 170), "c": (220, 265), "d": (220, 115), "e": (400, 190), "L": (590, 190)}
NAMES = {"a": "a", "b": "b", "c": "c", "d": "d = a b", "e": "e = d + c", "L": "L = -2 e"}
EDGES = [("a", "d"), ("b", "d"), ("d", "e"), ("c", "e"), ("e", "L")]
STEPS = [
    "only the inputs are known",
    "forward: d = a b",
    "forward: e = d + c",
    "forward: L = -2 e",
    "backward: the slope of L by itself is 1",
    "backward: to e, times the local derivative -2",
    "backward: to d and c, times 1 each",
    "backward: to a, times b, and to b, times a",
]
KNOWN = {"a": 0, "b": 0, "c": 0, "d": 1, "e": 2, "L": 3}  # from which step on a node has its value
REACHED = {"L": 4, "e": 5, "d": 6, "c": 6, "a": 7, "b": 7}  # and its gradient


def forward(a, b, c):
    """The value of every node."""
    d = a * b
    e = d + c
    return {"a": a, "b": b, "c": c, "d": d, "e": e, "L": -2 * e}


def local(a, b, c):
    """The local derivative on every edge: of its end by its start."""
    return {("a", "d"): b, ("b", "d"): a, ("d", "e"): 1, ("c", "e"): 1, ("e", "L"): -2}


def backward(a, b, c):
    """The gradient of every node: what comes from its end, times the edge's local derivative."""
    slopes = {"L": 1}
    for start, end in reversed(EDGES):
        slopes[start] = slopes[end] * local(a, b, c)[start, end]
    return slopes


def graph():
    """The exploration: three inputs, and the steps of both passes."""
    picture = svg(
        700,
        310,
        *(edge(PLACES[start], PLACES[end], f"{start}{end}") for start, end in EDGES),
        *(node(*place, name) for name, place in PLACES.items()),
    )

    def show(a, b, c, step):
        values, slopes, factors = forward(a, b, c), backward(a, b, c), local(a, b, c)
        seen = {}
        for name in PLACES:
            known, reached = step >= KNOWN[name], step >= REACHED[name]
            seen[f"{name}n.text"] = NAMES[name]
            seen[f"{name}v.text"] = f"value {values[name]}" if known else "value ?"
            seen[f"{name}g.text"] = f"gradient {slopes[name]}" if reached else ""
            now = step in (KNOWN[name], REACHED[name])
            seen[f"{name}.stroke"] = ORANGE if now else BLUE
            seen[f"{name}.stroke-width"] = 4 if now else 1.5
        for start, end in EDGES:
            seen[f"{start}{end}.text"] = factors[start, end] if step >= KNOWN[end] else ""
        seen["say"] = sentence(a, b, c, step)
        return seen

    inputs = [slider(name, name, range(-4, 5), start) for name, start in [("a", 6), ("b", 1)]]
    inputs.append(slider("c", "c", range(0, 11, 2), 5))
    steps = slider("step", "step", range(len(STEPS)), 0, text="{:d} of 7")
    return Exploration("Forward, then backward", [*inputs, steps], picture, show, play="step")


def sentence(a, b, c, step):
    """What the picture shows, in words."""
    values, slopes = forward(a, b, c), backward(a, b, c)
    new = [f"the value of {name} is {values[name]}" for name in PLACES if KNOWN[name] == step]
    new += [f"the gradient of {name} is {slopes[name]}" for name in PLACES if REACHED[name] == step]
    return f"Step {step}, {STEPS[step]}: {', '.join(new)}."
