"""Stands in the place of explore.py in grading: every exploration can be called and shows nothing."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *args, **settings: None
