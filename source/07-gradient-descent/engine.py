"""A scalar automatic-differentiation engine: the one that notebook 3 builds."""

import math


def as_value(x):
    return x if isinstance(x, Value) else Value(x)


class Value:
    """A number that remembers what it was computed from and passes gradient back to it."""

    def __init__(self, data, parents=(), op=""):
        self.data = float(data)
        self.grad = 0.0
        self.parents = parents
        self.op = op
        self._backward = lambda: None

    def __repr__(self):
        return f"Value(data={self.data:g}, grad={self.grad:g})"

    def __add__(self, other):
        other = as_value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = as_value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def _unary(self, data, op, slope):
        out = Value(data, (self,), op)

        def _backward():
            self.grad += slope * out.grad

        out._backward = _backward
        return out

    def __pow__(self, k):
        slope = k * self.data ** (k - 1) if k != 0 else 0.0
        return self._unary(self.data**k, f"**{k}", slope)

    def exp(self):
        result = math.exp(self.data)
        return self._unary(result, "exp", result)

    def log(self):
        return self._unary(math.log(self.data), "log", 1 / self.data)

    def tanh(self):
        t = math.tanh(self.data)
        return self._unary(t, "tanh", 1 - t * t)

    def relu(self):
        return self._unary(max(self.data, 0.0), "relu", float(self.data > 0))

    def __neg__(self): return self * -1
    def __sub__(self, other): return self + -as_value(other)
    def __rsub__(self, other): return as_value(other) - self
    def __truediv__(self, other): return self * as_value(other) ** -1
    def __rtruediv__(self, other): return as_value(other) / self
    __radd__, __rmul__ = __add__, __mul__

    def topological_order(self):
        """Every node that feeds this one, once, each after its parents."""
        order, seen, stack = [], set(), [(self, False)]
        while stack:
            node, parents_done = stack.pop()
            if parents_done:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend((parent, False) for parent in node.parents)
        return order

    def backward(self):
        """Adds d(self)/d(input) to the gradient of every input; the steps in between begin anew."""
        order = self.topological_order()
        for node in order:
            if node.parents:
                node.grad = 0.0
        self.grad += 1.0
        for node in reversed(order):
            node._backward()
