from ..exercise import Notebook

NOTEBOOK = Notebook("08-learning-rate", "", ())
