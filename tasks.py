#!/usr/bin/env python3
"""The way in: `python tasks.py demo`, `test` or `lab` on a machine that has nothing but Python.

Sets up the environment .venv from requirements.lock, once for each state of that file, and goes on in
it. Standard library only.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
STAMP = VENV / "lock.sha256"
OLDEST, NEWEST = (3, 11), (3, 13)
FIRST = "01-derivatives/derivatives.ipynb"


def main(arguments: list[str]) -> int:
    """Runs one task; returns its exit code, 2 for a bad call."""
    tasks = {"demo": demo, "lab": lab, "setup": lambda _: 0, "test": test}
    if not arguments or arguments[0] not in tasks:
        return fail(f"usage: python tasks.py {'|'.join(tasks)} [OPTION ...]")
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        return fail(f"Python {sys.version.split()[0]} runs this; 3.11, 3.12 or 3.13 is wanted")
    os.chdir(ROOT)
    return set_up() or tasks[arguments[0]](arguments[1:])


def fail(message: str) -> int:
    print(f"tasks.py: {message}", file=sys.stderr)
    return 2


def set_up() -> int:
    """Makes .venv agree with requirements.lock; does nothing where it does already."""
    lock = hashlib.sha256((ROOT / "requirements.lock").read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text(encoding="ascii") == lock:
        return 0
    print("setting up .venv from requirements.lock (a minute or two) ...", flush=True)
    if not PYTHON.is_file() and subprocess.call([sys.executable, "-m", "venv", str(VENV)]):
        return fail("no environment could be made: on Debian and Ubuntu, install the package python3-venv")
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for wanted in (
        ["--require-hashes", "-r", "requirements.lock"],
        ["--no-deps", "--no-build-isolation", "-e", "."],
    ):
        if subprocess.call([*pip, *wanted]):
            return fail("a package could not be installed: the lines above say which; then try again")
    # A first look at the course should not begin with a question about Jupyter's news.
    news = ["-m", "jupyter", "labextension", "disable", "@jupyterlab/apputils-extension:announcements"]
    subprocess.call([str(PYTHON), *news], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    STAMP.write_text(lock, encoding="ascii")
    return 0


def run(*command: str) -> int:
    """Runs a program of the environment, whose own programs come first on the PATH."""
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    return subprocess.call([str(PYTHON), *command], env={**os.environ, "PATH": path})


def demo(options: list[str]) -> int:
    """Builds the course, makes a class, grades it, and says where everything lies."""
    return run("-m", "autograder", "build") or run("-m", "autograder", "demo", *options)


def test(options: list[str]) -> int:
    """The linters, the types, then all tests, which share the cores."""
    checks = (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"])
    failed = [" ".join(check) for check in checks if run("-m", *check)]
    code = run("-m", "pytest", "-n", str(min(os.cpu_count() or 1, 8)), *options)
    if failed:
        print(f"failed before the tests: {', '.join(failed)}", file=sys.stderr)
    return code or int(bool(failed))


def lab(options: list[str]) -> int:
    """Opens JupyterLab on a copy of the student notebooks, at the first of them.

    Work that is already there is kept; `--fresh` puts it aside and begins anew.
    """
    folder = ROOT / "lab"
    if "--fresh" in options and folder.exists():
        aside = ROOT / f"lab-{datetime.now():%Y-%m-%d-%H%M%S}"
        folder.rename(aside)
        print(f"your earlier work is in {aside.name}/")
    options = [option for option in options if option != "--fresh"]
    if folder.exists():
        print("opening lab/ with the work that is in it (--fresh begins anew)")
    else:
        shutil.copytree(ROOT / "release", folder)
    return run("-m", "jupyter", "lab", f"--ServerApp.root_dir={folder}", *options, str(folder / FIRST))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
