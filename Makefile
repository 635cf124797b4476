# Everything is in tasks.py, which runs without make as well.
PYTHON ?= python3

.PHONY: demo test lab setup lock

demo: ; @$(PYTHON) tasks.py demo
test: ; @$(PYTHON) tasks.py test
lab: ; @$(PYTHON) tasks.py lab
setup: ; @$(PYTHON) tasks.py setup
lock: ; @$(PYTHON) tasks.py lock
