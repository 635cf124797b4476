"""Shapes on sliders: what fits with what in Y = X W, and what it costs."""

from explorable import BLUE, GREEN, INK, ORANGE, Exploration, label, slider, svg, tag

SIZES = list(range(1, 7))
CELL = 16  # units of the picture for one number


def shapes(n, d, k):
    """The shape of every matrix of the layer and of its gradients, (rows, columns)."""
    return {"X": (n, d), "W": (d, k), "Y": (n, k), "dX": (n, d), "dW": (d, k), "dY": (n, k)}


def operations(n, d, k):
    """Multiplications and additions of X W: each of the n k entries has d products and d - 1 sums."""
    return n * k * d, n * k * (d - 1)


def both_gradients(n, d, k):
    """Multiplications of X-transpose dY and of dY W-transpose: one for each n, d and k again."""
    return 2 * n * d * k


# name, colour, and where its middle is
PLACES = {
    "X": ("X", BLUE, 100, 105),
    "W": ("W", ORANGE, 270, 105),
    "Y": ("Y = X W", GREEN, 440, 105),
    "dX": ("dX = dY Wᵀ", BLUE, 100, 265),
    "dW": ("dW = Xᵀ dY", ORANGE, 270, 265),
    "dY": ("dY, given", GREEN, 440, 265),
}


def matrix_shapes():
    """The exploration: three sizes, six matrices, and the count."""
    parts = []
    for name, (title, colour, x, _) in PLACES.items():
        parts.append(tag("path", id=name, fill=colour, fill_opacity=0.3, stroke=colour, stroke_width=1.5))
        parts.append(label(x, 0, title, id=f"{name}t", text_anchor="middle"))
        parts.append(label(x, 0, id=f"{name}s", text_anchor="middle", font_size=12))
    picture = svg(
        700,
        350,
        label(185, 110, "times", text_anchor="middle"),
        label(355, 110, "=", text_anchor="middle"),
        tag("path", d="M20 185H520", stroke=INK, stroke_width=0.5),
        *parts,
        label(540, 60, "scalar operations", font_weight="bold"),
        *(label(540, 85 + 20 * row, id=f"count{row}") for row in range(5)),
    )

    def show(n, d, k):
        seen = {}
        for name, (rows, columns) in shapes(n, d, k).items():
            x, y = PLACES[name][2:]
            seen[f"{name}.d"] = grid(x, y, rows, columns)
            seen[f"{name}t.y"] = f"{y - rows * CELL / 2 - 8:.0f}"
            seen[f"{name}s.y"] = f"{y + rows * CELL / 2 + 16:.0f}"
            seen[f"{name}s.text"] = f"{rows} x {columns}"
        products, sums = operations(n, d, k)
        lines = [
            f"n k d = {n} x {k} x {d}",
            f"products: {products}",
            f"sums: {sums}",
            "",
            f"both gradients: {both_gradients(n, d, k)}",
        ]
        for row, line in enumerate(lines):
            seen[f"count{row}.text"] = line
        seen["say"] = sentence(n, d, k)
        return seen

    sliders = [
        slider("n", "n, rows of X", SIZES, 1),
        slider("d", "d, inner size", SIZES, 2),
        slider("k", "k, columns of W", SIZES, 1),
    ]
    return Exploration("Shapes that fit, and what they cost", sliders, picture, show)


def grid(x, y, rows, columns):
    """The `d` of a grid of cells around a middle."""
    left, top = x - columns * CELL / 2, y - rows * CELL / 2
    across = "".join(f"M{left:g} {top + row * CELL:g}h{columns * CELL}" for row in range(1, rows))
    down = "".join(f"M{left + column * CELL:g} {top:g}v{rows * CELL}" for column in range(1, columns))
    return f"M{left:g} {top:g}h{columns * CELL}v{rows * CELL}h{-columns * CELL}z{across}{down}"


def sentence(n, d, k):
    """What the picture shows, in words."""
    products, _ = operations(n, d, k)
    return (
        f"X is {n} by {d} and W is {d} by {k}: the inner sizes, {d} and {d}, agree, and Y is {n} by {k}. "
        f"That takes {products} products. Every gradient has its matrix's own shape: dW is {d} by {k}, "
        f"dX is {n} by {d}."
    )
