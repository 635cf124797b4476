"""Stands in the place of figures.py where nobody will look: everything can be called, nothing is drawn."""

from IPython.display import display

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
GREY = "#5A5A5A"


class _Undrawn:
    """Takes every call and every attribute, as a figure, its axes and its lines do."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args, **settings):
        return self

    def __getitem__(self, key):
        return self

    def __iter__(self):
        return iter((self,))


def axes(xlabel, ylabel, title="", size=(6.4, 3.8)):
    return _Undrawn(), _Undrawn()


def show(figure, alt):
    display({"text/plain": f"[figure: {alt}]"}, raw=True)
