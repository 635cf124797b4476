"""The picture of any Value's graph, and of its backward pass, one node at a time."""

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


def columns(order):
    """For each node, how many steps it is away from the farthest input: its column, from 0."""
    column = {}
    for value in order:
        column[id(value)] = 1 + max((column[id(parent)] for parent in value.parents), default=-1)
    return column


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


def places(order):
    """Where each node stands: inputs on the left, the output on the right."""
    column = columns(order)
    filled = {}
    where = []
    for value in order:
        number = column[id(value)]
        filled.setdefault(number, []).append(value)
        where.append((number, len(filled[number]) - 1))
    most = max(map(len, filled.values()))
    return [
        (MARGIN + COLUMN * number, 40 + ROW * (row + (most - len(filled[number])) / 2))
        for number, row in where
    ]


def graph(output, **names):
    """The exploration of the graph that `output`, a Value, was computed by; `names` says what is what."""
    order = in_order(output)
    if len(order) > MOST:
        print(f"This graph has {len(order)} nodes; a picture has room for {MOST}. Try a smaller expression.")
        return None
    called = {id(value): name for name, value in names.items()}
    where, steps = places(order), backward_steps(order)
    number = {id(value): position for position, value in enumerate(order)}
    edges = sorted({(number[id(one)], end) for end, value in enumerate(order) for one in value.parents})
    picture = svg(
        max(x for x, _ in where) + MARGIN,
        max(y for _, y in where) + 40,
        *(edge(where[start], where[end], f"e{start}to{end}") for start, end in edges),
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
