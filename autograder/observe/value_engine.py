"""Observations of 03-value-engine."""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .run import Case, Namespace

Seen = Iterator[tuple[str, Any]]
Operands = Mapping[str, Any]

# Which special methods each of the student's functions answers for.
SPECIAL = {
    "add": ("__add__", "__radd__"),
    "multiply": ("__mul__", "__rmul__"),
    "power": ("__pow__",),
    "negate": ("__neg__",),
    "subtract": ("__sub__",),
    "subtract_from": ("__rsub__",),
    "divide": ("__truediv__",),
    "divide_into": ("__rtruediv__",),
}

# What is computed from the Values a and b and the plain number n.
FORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a + b": lambda a, b, n: a + b,
    "a + a": lambda a, b, n: a + a,
    "a + n": lambda a, b, n: a + n,
    "n + a": lambda a, b, n: n + a,
    "sum([a, b, a])": lambda a, b, n: sum([a, b, a]),
    "a * b": lambda a, b, n: a * b,
    "a * a": lambda a, b, n: a * a,
    "a * n": lambda a, b, n: a * n,
    "n * a": lambda a, b, n: n * a,
    "a ** n": lambda a, b, n: a**n,
    "-a": lambda a, b, n: -a,
    "a - b": lambda a, b, n: a - b,
    "a - a": lambda a, b, n: a - a,
    "a - n": lambda a, b, n: a - n,
    "n - a": lambda a, b, n: n - a,
    "a / b": lambda a, b, n: a / b,
    "a / a": lambda a, b, n: a / a,
    "a / n": lambda a, b, n: a / n,
    "n / a": lambda a, b, n: n / a,
}

BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def attach(names: Namespace, *functions: str) -> None:
    """Hangs the student's functions on his class, whatever he has done to it since."""
    for function in functions:
        for special in SPECIAL[function]:
            setattr(names["Value"], special, names[function])


def attach_all(names: Namespace, *functions: str) -> None:
    """The same, where one that is missing is no reason to leave out the others."""
    for function in functions:
        try:
            attach(names, function)
        except LookupError:
            continue


def kind(answer: Any, wanted: str) -> str:
    """What came back in the place of what was wanted."""
    name = "None" if answer is None else f"a {type(answer).__name__[:40]}"
    return f"{name}, not a {wanted}"


def number(answer: Any, names: Namespace) -> Any:
    """The number of a Value; of anything else, what it is."""
    return answer.data if isinstance(answer, names["Value"]) else kind(answer, "Value")


def parents_of(node: Any) -> list[Any]:
    """A node's parents; none where they are not collected in anything."""
    parents = node.parents
    return list(parents) if isinstance(parents, tuple | list | set | frozenset) else []


def recorded(names: Namespace, compute: Callable[[], Any]) -> tuple[Any, list[Any]]:
    """What `compute` returns, and the Values that it was computed by, in the order of their making.

    They are noted down while they are made: to find their order afterwards is what a student is asked for,
    who can call whatever stands here.
    """
    made: list[Any] = []
    value = names["Value"]
    initialise = value.__init__

    def note_down(self: Any, *given: Any, **named: Any) -> None:
        initialise(self, *given, **named)
        made.append(self)

    value.__init__ = note_down
    try:
        output = compute()
    finally:
        value.__init__ = initialise
    reached: set[int] = set()
    stack = [output]
    while stack:
        node = stack.pop()
        if id(node) not in reached and isinstance(node, value):
            reached.add(id(node))
            stack += parents_of(node)
    return output, [node for node in made if id(node) in reached]


def record(names: Namespace, output: Any, made: list[Any], operands: Operands) -> Any:
    """The operands that the output remembers, by name, and the types of what is no Value there."""
    if not isinstance(output.parents, tuple | list | set | frozenset):
        return kind(output.parents, "tuple of parents")
    found = [one for node in made for one in parents_of(node)]
    known = {name for name, one in operands.items() if any(parent is one for parent in found)}
    strange = {type(one).__name__[:40] for one in found if not isinstance(one, names["Value"])}
    return sorted(known) + sorted(strange)


def pass_back(output: Any, made: list[Any], operands: Operands, case: Case) -> list[Any]:
    """The operands' gradients, when the output has the case's `upstream` and passes it back."""
    for node in made:
        node.grad = 0.0
    for name, one in operands.items():
        one.grad = case["before"][name]
    output.grad = case["upstream"]
    for node in reversed(made):
        node._backward()
    return [one.grad for one in operands.values()]


def operands_of(names: Namespace, case: Case) -> dict[str, Any]:
    """The Values that the case names."""
    return {name: names["Value"](case[name]) for name in ("a", "b") if name in case}


def result(names: Namespace, case: Case, compute: Callable[[], Any], operands: Operands) -> Seen:
    """What an operation shows: step by step, or value and gradients together as the one part `about`."""
    output, made = recorded(names, compute)
    is_value = isinstance(output, names["Value"])
    if "about" in case:
        value = number(output, names)
        yield (
            case["about"],
            [value, *pass_back(output, made, operands, case)] if is_value else value,
        )
        return
    yield "the value", number(output, names)
    if is_value:
        yield "the record of its parents", record(names, output, made, operands)
        gradients = pass_back(output, made, operands, case)
        yield case["gradient"], gradients if len(gradients) > 1 else gradients[0]


def lift(names: Namespace, case: Case) -> Seen:
    as_value = names["as_value"]
    if "number" in case:
        yield "what a number becomes", number(as_value(case["number"]), names)
        return
    value = names["Value"](case["value"])
    answer = as_value(value)
    value.data, value.grad = case["later"]  # the same object shows what becomes of it
    is_value = isinstance(answer, names["Value"])
    yield (
        "what a Value becomes",
        [answer.data, answer.grad] if is_value else kind(answer, "Value"),
    )


def _binary(names: Namespace, case: Case) -> Seen:
    operands = operands_of(names, case)
    form = FORMS[case["form"]]
    yield from result(names, case, lambda: form(operands["a"], operands.get("b"), case.get("n")), operands)


def add(names: Namespace, case: Case) -> Seen:
    attach(names, "add")
    yield from _binary(names, case)


def multiply(names: Namespace, case: Case) -> Seen:
    attach(names, "multiply")
    yield from _binary(names, case)


def power(names: Namespace, case: Case) -> Seen:
    attach(names, "power")
    yield from _binary(names, case)


def arithmetic(names: Namespace, case: Case) -> Seen:
    names[case["function"]]  # its absence is worth a word of its own
    attach_all(names, "negate", "subtract", "subtract_from", "divide", "divide_into")
    yield from _binary(names, case)


def unary(names: Namespace, case: Case) -> Seen:
    operands = operands_of(names, case)
    function = names[case["function"]]
    yield from result(names, case, lambda: function(operands["a"]), operands)


def build_graph(names: Namespace, case: Case) -> dict[str, Any]:
    """The case's nodes by name, with the parents that it lists and numbers that occur twice."""
    nodes = {name: names["Value"](position // 2) for position, name in enumerate(case["nodes"])}
    for name, parents in case["nodes"].items():
        nodes[name].parents = tuple(nodes[parent] for parent in parents)
        nodes[name].op = "+" if parents else ""
    return nodes


def build_chain(names: Namespace, length: int) -> list[Any]:
    """That many nodes in a row, each the parent of the next."""
    nodes = [names["Value"](1.0)]
    while len(nodes) < length:
        nodes.append(names["Value"](1.0, (nodes[-1],), "tanh"))
    return nodes


def labels(answer: Any, names: Namespace, known: Mapping[int, Any]) -> Any:
    """The names of the nodes in `answer`; nodes of another graph, one after another, count once."""
    if not isinstance(answer, list | tuple):
        return kind(answer, "list of nodes")
    found: list[Any] = []
    for one in answer:
        is_value = isinstance(one, names["Value"])
        label = known.get(id(one), "a node of another graph") if is_value else kind(one, "node")
        if label != "a node of another graph" or found[-1:] != [label]:
            found.append(label)
    return found


def order(names: Namespace, case: Case) -> Seen:
    names["topological_order"](names["Value"](0.0))  # one graph before: what is left of it would show
    if "chain" in case:
        chain = build_chain(names, case["chain"])
        known: dict[int, Any] = {id(node): place for place, node in enumerate(chain)}
        output = chain[-1]
        del chain  # this list is the answer, and one frame away from who is asked for it
        yield "the order of a long chain", labels(names["topological_order"](output), names, known)
        return
    nodes = build_graph(names, case)
    known = {id(node): name for name, node in nodes.items()}
    found = labels(names["topological_order"](nodes[case["output"]]), names, known)
    yield "the list of nodes", found
    yield "the order", found


def build_steps(names: Namespace, case: Case) -> dict[str, Any]:
    """The nodes of a computation in steps such as `c = a + 2.0` and `t = tanh c`, by name."""
    nodes: dict[str, Any] = {name: names["Value"](data) for name, data in case["inputs"].items()}
    for step in case["steps"]:
        target, _, *words = step.split()
        if len(words) == 2:
            nodes[target] = getattr(nodes[words[1]], words[0])()
        else:
            left, right = (nodes[word] if word in nodes else float(word) for word in (words[0], words[2]))
            nodes[target] = BINARY[words[1]](left, right)
    return nodes


def backward(names: Namespace, case: Case) -> Seen:
    run = names["backward"]
    if "chain" in case:
        x = names["Value"](case["x"])
        total = x
        for _ in range(case["chain"]):
            total = total + x
        run(total)
        yield "the gradient through a long chain", x.grad
        return
    nodes = build_steps(names, case)
    output = list(nodes.values())[-1]
    inner = [name for name in nodes if name not in case["inputs"]]
    if "stale" in case:
        for name in inner:
            nodes[name].grad = case["stale"]
        run(output)
        run(output)
        yield "the gradient after a second call", {name: node.grad for name, node in nodes.items()}
        return
    run(output)
    yield "the gradient of the inputs", {name: nodes[name].grad for name in case["inputs"]}
    yield "the gradient of the steps in between", {name: nodes[name].grad for name in inner}
