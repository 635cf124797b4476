"""The picture of any Value's graph, and of its backward pass, one node at a time."""

import math

from explorable import BLUE, ORANGE, Exploration, edge, node, slider, svg

MOST = 30  # nodes that a picture has room for
COLUMN, ROW, MARGIN = 150, 74, 60


def in_order(output):
    """Every node below `output` once, each after all that it was computed from; without recursion."""
    order, done, waiting = [], set(), [(output, False)]
    while waiting:
        value, parents_done = waiting.pop()
        if parents_done:
            order.append(value)
        elif id(value) not in done:
            done.add(id(value))
            waiting.append((value, True))
            waiting.extend((parent, False) for parent in reversed(value.parents))
    return order


def numbered_edges(order):
    """Pairs of positions in `order`: a parent's, and that of what was computed from it."""
    number = {id(value): position for position, value in enumerate(order)}
    return sorted({(number[id(one)], end) for end, value in enumerate(order) for one in value.parents})


def columns(order, edges):
    """Each node's column: after all its parents; an input's is the one before its first use."""
    column, use = [0] * len(order), {}
    for start, end in sorted(edges, key=lambda pair: pair[1]):
        column[end] = max(column[end], column[start] + 1)
    for start, end in edges:
        if not order[start].parents:
            use[start] = min(use.get(start, column[end]), column[end])
    return [use[number] - 1 if number in use else one for number, one in enumerate(column)]


def backward_steps(order):
    """The gradients of all nodes before, and after each node has passed on: a list of lists.

    The nodes' own `_backward` is called, from the output on; then every gradient is put back.
    """
    before = [value.grad for value in order]
    for value in order:
        value.grad = 0.0
    seen = [[value.grad for value in order]]
    order[-1].grad = 1.0
    seen.append([value.grad for value in order])
    for value in reversed(order):
        if value.parents:
            value._backward()
            seen.append([one.grad for one in order])
    for value, grad in zip(order, before):
        value.grad = grad
    return seen


def places(order, edges):
    """Where each node stands, the output on the right; and where each edge passes columns between its ends.

    What stands in a column, nodes and passing edges, is sorted by the heights of what it comes from.
    """
    column = columns(order, edges)
    standing = [[] for _ in range(max(column) + 1)]
    for number, one in enumerate(column):
        standing[one].append(number)
    for start, end in edges:
        for between in range(column[start] + 1, column[end]):
            standing[between].append((start, end))
    most, at = max(map(len, standing)), {}

    def origin(number, one):
        """The mean height of what leads to `one`, in the column before; where nothing does, the bottom."""
        into = [one] if isinstance(one, tuple) else [pair for pair in edges if pair[1] == one]
        before = [start if column[start] == number - 1 else (start, end) for start, end in into]
        heights = [at[number - 1, it][1] for it in before]
        return sum(heights) / len(heights) if heights else math.inf

    for number, ones in enumerate(standing):
        for row, one in enumerate(sorted(ones, key=lambda one: origin(number, one))):
            at[number, one] = MARGIN + COLUMN * number, 40 + ROW * (row + (most - len(ones)) / 2)
    where = [at[one, number] for number, one in enumerate(column)]
    return where, {(a, b): [at[n, (a, b)] for n in range(column[a] + 1, column[b])] for a, b in edges}


def graph(output, **names):
    """The exploration of the graph that `output`, a Value, was computed by; `names` says what is what."""
    order = in_order(output)
    if len(order) > MOST:
        print(f"This graph has {len(order)} nodes; a picture has room for {MOST}. Try a smaller expression.")
        return None
    called = {id(value): name for name, value in names.items()}
    edges, steps = numbered_edges(order), backward_steps(order)
    where, bends = places(order, edges)
    picture = svg(
        max(x for x, _ in where) + MARGIN,
        max(y for line in [where, *bends.values()] for _, y in line) + 40,
        *(edge(where[a], where[b], f"e{a}to{b}", bends[a, b]) for a, b in edges),
        *(node(*place, f"n{position}") for position, place in enumerate(where)),
    )
    titles = [title(value, called) for value in order]
    passing = [None, len(order) - 1, *(p for p in reversed(range(len(order))) if order[p].parents)]

    def show(step):
        seen = {}
        for position, value in enumerate(order):
            name = f"n{position}"
            seen[f"{name}n.text"] = titles[position]
            seen[f"{name}v.text"] = f"data {value.data:.4g}"
            seen[f"{name}g.text"] = f"grad {steps[step][position]:.4g}"
            now = position == passing[step]
            seen[f"{name}.stroke"] = ORANGE if now else BLUE
            seen[f"{name}.stroke-width"] = 4 if now else 1.5
        seen["say"] = sentence(order, titles, steps, passing, step)
        return seen

    control = slider("step", "step of backward()", range(len(steps)), 0, text="{:d}")
    return Exploration("A graph and its backward pass", [control], picture, show, play="step")


def title(value, called):
    """What stands in a node: its name, or the operation that made it."""
    name = called.get(id(value), "")
    return f"{name}: {value.op}" if name and value.op else name or value.op or "number"


def sentence(order, titles, steps, passing, step):
    """What one step does, in words."""
    if step == 0:
        return f"{len(order)} nodes with their data; every gradient is 0."
    if step == 1:
        return "The output's gradient by itself is 1."
    position = passing[step]
    changed = [
        f"{titles[one]} ({order[one].data:.4g}) now has {steps[step][one]:.4g}"
        for one in range(len(order))
        if steps[step][one] != steps[step - 1][one]
    ]
    told = ", ".join(changed) or "nothing that changes a gradient"
    return f"Step {step}: {titles[position]} ({order[position].data:.4g}) passes its gradient on; {told}."
