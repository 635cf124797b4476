"""Engines to put on trial: each is a class that is used just like Value.

To find the faulty ones, check their gradients. Reading the table below tells you less than it seems.
"""

TREES = {
    "ash": ("+", -1, 0, 1, 1, 1),
    "birch": ("tanh", -1, 1, 1, 1, 0),
    "cedar": ("-", 0, 1, 1, 1, 1),
    "elm": ("-", 1, 1, -1, 1, 1),
    "maple": ("log", 0, 1, 1, 0, 1),
    "oak": ("**", 0, 1, 0.5, 1, 1),
    "pine": ("*", -1, 1, 1, 1, 1),
}


def suspects(Value):
    """The seven engines by name."""
    return {name: build_engine(Value, rule) for name, rule in TREES.items()}


def build_engine(Value, rule):
    """A class like Value; `rule` says how one operation passes gradient to its operands."""
    operation, operand, keep, scale, local, upstream = rule

    class Engine(Value):
        def _node(self, op, data, operands, slopes):
            out = Engine(data, operands, op)

            def _backward():
                for place, (one, slope) in enumerate(zip(operands, slopes, strict=True)):
                    if op == operation and operand in (place, -1):
                        one.grad = keep * one.grad + scale * slope**local * out.grad**upstream
                    else:
                        one.grad += slope * out.grad

            out._backward = _backward
            return out

        def _unary(self, data, op, slope):
            return self._node("**" if op.startswith("**") else op, data, (self,), (slope,))

        def __add__(self, other):
            other = _lifted(other)
            return self._node("+", self.data + other.data, (self, other), (1.0, 1.0))

        def __sub__(self, other):
            other = _lifted(other)
            return self._node("-", self.data - other.data, (self, other), (1.0, -1.0))

        def __mul__(self, other):
            other = _lifted(other)
            return self._node("*", self.data * other.data, (self, other), (other.data, self.data))

        def __rsub__(self, other):
            return _lifted(other) - self

        __radd__, __rmul__ = __add__, __mul__

        def backward(self):
            if operation != "walk":
                return super().backward()
            self.grad, waiting = 1.0, [self]
            while waiting:
                node = waiting.pop()
                node._backward()
                waiting.extend(node.parents)

    def _lifted(other):
        return other if isinstance(other, Value) else Engine(other)

    return Engine
