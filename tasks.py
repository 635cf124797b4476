#!/usr/bin/env python3
"""The way in: `python tasks.py demo`, `test` or `lab` on a machine that has nothing but Python.

Sets up the environment .venv from requirements.lock, once for each state of that file, and goes on in
it. Standard library only.
"""

from __future__ import annotations  # an older Python gets as far as the line that says so

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "set-up.txt"
PYTHONS = ((3, 11), (3, 12), (3, 13))
FIRST = "01-derivatives/derivatives.ipynb"
CONDA = "autograd-by-hand"  # the environment of environment.yml
UV = "uv==0.13.9"  # resolves the lock: one version, so that only the packages' own news changes it


def main(arguments: list[str]) -> int:
    """Runs one task; returns its exit code, 2 for a bad call."""
    tasks = {"demo": demo, "lab": lab, "lock": lock, "setup": lambda _: 0, "test": test}
    if not arguments or arguments[0] not in tasks:
        return fail(f"usage: python tasks.py {'|'.join(tasks)} [OPTION ...]")
    name, options = arguments[0], arguments[1:]
    if sys.version_info[:2] not in PYTHONS:
        mine = sys.version.split()[0]
        return fail(f"this is Python {mine}: 3.11, 3.12 or 3.13 is wanted, as in python3.13 tasks.py {name}")
    os.chdir(ROOT)
    if name == "lab" and os.environ.get("CONDA_DEFAULT_ENV") == CONDA:
        return lab(options, sys.executable)
    return set_up() or tasks[name](options)


def fail(message: str) -> int:
    print(f"tasks.py: {message}", file=sys.stderr)
    return 2


def set_up() -> int:
    """Makes .venv agree with requirements.lock; does nothing where it does already."""
    # Programs in .venv name the folder that they were made in: it cannot be moved.
    state = [hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest(), str(VENV)]
    done = STAMP.read_text(encoding="utf-8").splitlines() if STAMP.is_file() else []
    if done == state:
        return 0
    print("setting up .venv from requirements.lock (a minute or two) ...", flush=True)
    if done[1:] not in ([], state[1:]) or not usable():
        if not (find_spec("venv") and find_spec("ensurepip")):
            return fail("this Python cannot make environments: on Debian and Ubuntu, install python3-venv")
        if subprocess.call([sys.executable, "-m", "venv", "--clear", str(VENV)]):
            return fail("no environment could be made: the lines above say why")
    STAMP.unlink(missing_ok=True)
    # The lock is complete: pip, if it resolved it again, might stumble over extras that are not named there.
    pip = [str(PYTHON), "-m", "pip", "install", "--no-deps", "--quiet", "--disable-pip-version-check"]
    for wanted in (
        ["--require-hashes", "-r", "requirements.lock"],
        ["--no-build-isolation", "-e", "."],
    ):
        if subprocess.call([*pip, *wanted]):
            return fail("a package could not be installed: the lines above say which; then try again")
    # A first look at the course should not begin with a question about Jupyter's news.
    news = ["-m", "jupyter", "labextension", "disable", "@jupyterlab/apputils-extension:announcements"]
    subprocess.call([str(PYTHON), *news], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    STAMP.write_text("\n".join(state), encoding="utf-8")
    return 0


def usable() -> bool:
    """Whether .venv has a Python that suits, with pip."""
    if not PYTHON.is_file():
        return False
    asked = f"import sys, pip; sys.exit(sys.version_info[:2] not in {PYTHONS})"
    return subprocess.call([str(PYTHON), "-c", asked], stderr=subprocess.DEVNULL) == 0


def run(*command: str, python: str = str(PYTHON), **variables: str) -> int:
    """Runs a program of the environment, whose own programs come first on the PATH."""
    path = os.pathsep.join([str(Path(python).parent), os.environ.get("PATH", "")])
    # Ctrl-C is the program's to answer: JupyterLab asks whether to stop, and ends its kernels.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        return subprocess.call([python, *command], env={**os.environ, **variables, "PATH": path})
    finally:
        signal.signal(signal.SIGINT, before)


def demo(options: list[str]) -> int:
    """Builds the course, makes a class, grades it, and says where everything lies."""
    return run("-m", "autograder", "build") or run("-m", "autograder", "demo", *options)


def test(options: list[str]) -> int:
    """The linters, the types, then all tests, which share the cores; options are pytest's."""
    checks = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"])
    failed = [" ".join(check) for check in checks if run("-m", *check)]
    code = run("-m", "pytest", "-n", str(min(os.cpu_count() or 1, 8)), "-rs", *options)
    if failed:
        print(f"failed before the tests: {', '.join(failed)}", file=sys.stderr)
    return code or int(bool(failed))


def lab(options: list[str], python: str = str(PYTHON)) -> int:
    """Opens JupyterLab on a copy of the student notebooks, at the first of them.

    Work that is already there is kept; `--fresh` puts it aside and begins anew.
    """
    folder = ROOT / "lab"
    if "--fresh" in options and folder.exists():
        aside = ROOT / f"lab-{datetime.now():%Y-%m-%d-%H%M%S}"
        folder.rename(aside)
        print(f"your earlier work is in {aside.name}")
    options = [option for option in options if option != "--fresh"]
    if folder.exists():
        print("opening lab with the work that is in it (--fresh begins anew)", flush=True)
    else:
        shutil.copytree(ROOT / "release", folder)
    command = ["-m", "jupyter", "lab", f"--ServerApp.root_dir={folder}", *options, str(folder / FIRST)]
    return run(*command, python=python)


def lock(options: list[str]) -> int:
    """Resolves requirements.lock anew: pins with hashes for each of our Pythons on every system.

    Pins that still fit are kept; `--upgrade` looks for newer ones.
    """
    with tempfile.TemporaryDirectory() as folder:
        quiet = ["--quiet", "--disable-pip-version-check"]
        if run("-m", "pip", "install", *quiet, "--target", folder, UV):
            return fail(f"{UV} could not be installed: the lines above say why")
        return run(
            *("-m", "uv", "pip", "compile", "pyproject.toml", "--extra", "dev", "--quiet"),
            *("--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--no-header"),
            *("--no-emit-index-url", "--output-file", "requirements.lock", *options),
            PYTHONPATH=folder,
        )


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(fail("stopped"))
