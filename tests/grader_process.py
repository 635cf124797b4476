"""A grader in a process of its own, as root or as an ordinary user, that tests can attack, watch and kill.

As a program: grades an answer a line, `{"answer": ..., "seconds": ...}`, of the first notebook's exercise
`derivative-square`, with right answers everywhere else, and tells what came of it.
"""

import copy
import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ORDINARY = 54321  # a user that no system has
MS_BIND, MS_REC, MS_PRIVATE, NEWNS = 4096, 16384, 1 << 18, 0x20000


def descendants(pid: int) -> list[int]:
    """The processes below `pid`, as far as they live."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [one for child in map(int, children) for one in (child, *descendants(child))]


def become_ordinary(needed: list[Path]) -> None:
    """Turns this process, root's, into an ordinary user's who can reach the paths `needed`.

    Where a folder above one of them is closed to others, it is covered for this process alone.
    """
    libc = ctypes.CDLL(None, use_errno=True)

    def mount(source: str, target: Path | str, kind: str, flags: int, data: str) -> None:
        texts = (os.fsencode(source), os.fsencode(target), kind.encode())
        if libc.mount(*texts, ctypes.c_ulong(flags), data.encode()) != 0:
            raise OSError(ctypes.get_errno(), f"mount {target}")

    if libc.unshare(NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", "", MS_REC | MS_PRIVATE, "")
    opened = [(path, os.open(path, os.O_PATH)) for path in needed]
    for path, descriptor in opened:
        for folder in reversed(path.parents):
            if folder.exists() and not folder.stat().st_mode & 1:
                mount("tmpfs", folder, "tmpfs", 0, "mode=755")
        if not path.exists():
            path.mkdir(parents=True)
            mount(f"/proc/self/fd/{descriptor}", path, "", MS_BIND | MS_REC, "")
    os.setgroups([])
    os.setresgid(ORDINARY, ORDINARY, ORDINARY)
    os.setresuid(ORDINARY, ORDINARY, ORDINARY)


class Grader:
    """The near end of a grader in a process of its own."""

    def __init__(self, ordinary: bool, folder: Path) -> None:
        """Starts one that has `folder` for its temporary files."""
        course = Path(__file__).parents[1]
        needed = [sys.base_prefix, sys.prefix, str(course), str(folder)] if ordinary else []
        environment = {
            **os.environ,
            "TMPDIR": str(folder / "tmp"),
            "HOME": str(folder),
            "COURSE_PASSWORD": "open sesame",
            "PYTHONPATH": str(course),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__, *needed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=folder,
            text=True,
        )
        self.pid = self._process.pid

    def ask(self, **request: Any) -> dict[str, Any]:
        """What came of one request; raises EOFError if the grader has ended."""
        self.send(**request)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError("the grader has ended")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def send(self, **request: Any) -> None:
        """A request whose reply is not waited for."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        """As `kill -9` does."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Lets it end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def _requests() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def main() -> None:
    """Grades what is asked for, as an ordinary user where told the paths that he needs."""
    if needed := list(map(Path, sys.argv[1:])):
        become_ordinary(needed)
    import nbformat

    from autograder.course import assignment, find_course, laid_beside
    from autograder.exercises import declared
    from autograder.grade import Terms, grade

    course, first = find_course(Path(__file__).parent), assignment("01-derivatives")
    declarations = declared(first)
    right = {exercise.id: exercise.reference for exercise in declarations.exercises}
    notebook = nbformat.read(course.source / first.name / first.file, as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    for request in _requests():
        mine = copy.deepcopy(notebook)
        for cell in mine.cells:
            name = cell.metadata["nbgrader"]["grade_id"]
            if name in right:
                cell.source = request["answer"] if name == "derivative-square" else right[name]
        terms = Terms(request["seconds"], confined=False)
        result = grade(mine, declarations, "a seed", laid_beside(first, drawn=False), terms)
        scores = {name: verdict.score for name, verdict in result.verdicts.items()}
        message = result.verdicts["derivative-square"].message
        reply = {"scores": scores, "message": message, "layers": result.layers, "notebook": result.notebook}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
