# Everything is in tasks.py, which runs without make as well.
PYTHON ?= python3

.PHONY: demo test lab setup lock

demo: ; @$(PYTHON) tasks.py demo
test: ; @$(PYTHON) tasks.py test
lab: ; @$(PYTHON) tasks.py lab
setup: ; @$(PYTHON) tasks.py setup

# Needs uv; one file of pins with hashes for Python 3.11 to 3.13 on every system.
lock:
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --no-annotate --no-header \
	    --no-emit-index-url --generate-hashes -o requirements.lock
