"""Figures of the course: one look, readable in every theme, with a text for those who cannot see."""

import base64
import html
import io

from IPython.display import display
from matplotlib import rc_context
from matplotlib.figure import Figure

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
GREY = "#5A5A5A"


def axes(xlabel, ylabel, title="", size=(6.4, 3.8)):
    """An empty figure with one pair of labelled axes; returns both."""
    figure = Figure(figsize=size, layout="constrained")
    ax = figure.subplots()
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.grid(color="#DDDDDD", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return figure, ax


def show(figure, alt):
    """Displays `figure` as a sharp picture; `alt` says in words what is to be seen on it."""
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "figures"}):  # the same figure has the same bytes
        figure.savefig(buffer, format="svg", facecolor="white", metadata={"Date": None})
    data = base64.b64encode(buffer.getvalue()).decode()
    picture = f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(alt, quote=True)}">'
    display({"text/html": picture, "text/plain": f"[figure: {alt}]"}, raw=True)
