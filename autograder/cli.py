"""The `autograder` program: its commands, nothing else.

Each command imports the room it needs when it is called, so that `check` does not wait for nbgrader.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .course import CourseError, find_course, select

# jsonschema tries to import it, to check IRIs that no notebook has; it compiles a grammar for over a second.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

ISOLATION = "none: grade where layers of isolation are missing, too, and record that with the results"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code.

    0: done; 1: something differs or failed; 2: a bad call; 130: stopped by Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        return code
    except CourseError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # while it was starting, or where nothing has to be told apart
        print("autograder: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="autograder", description="Build and grade the course.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    one = commands.add_parser("build", help="notebooks -> source -> release")
    one.add_argument("assignments", nargs="*", metavar="ASSIGNMENT")
    how = one.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="change nothing, fail on drift")
    how.add_argument(
        "--back", action="store_true", help="first source -> notebooks: keep what was edited in Jupyter"
    )
    one.set_defaults(run=_build)

    one = commands.add_parser("audit", help="prove the tests: judge every declared answer and mutant")
    one.add_argument("assignments", nargs="*", metavar="ASSIGNMENT")
    one.add_argument("--json", action="store_true", help="one list, for programs")
    one.set_defaults(run=_audit)

    one = commands.add_parser("check", help="judge notebooks that stand alone")
    one.add_argument("files", nargs="+", type=Path, metavar="FILE.ipynb")
    one.add_argument("--json", action="store_true", help="one object a file, for programs")
    one.set_defaults(run=_check)

    one = commands.add_parser("grade", help="the class: submitted -> autograded and the gradebook")
    one.add_argument("assignments", nargs="*", metavar="ASSIGNMENT")
    one.add_argument("--student", default="*", metavar="ID", help="this one alone; * stands for anything")
    one.add_argument("--regrade", action="store_true", help="also what was graded before; says what changed")
    one.add_argument("--figures", action="store_true", help="draw figures that nobody has to look at, too")
    one.add_argument("--json", action="store_true", help="the summary as one object, for programs")
    one.add_argument("--isolation", choices=("full", "none"), default="full", help=ISOLATION)
    _add_where(one)
    one.set_defaults(run=_grade)

    one = commands.add_parser("feedback", help="a page for each graded submission: autograded -> feedback")
    one.add_argument("assignments", nargs="*", metavar="ASSIGNMENT")
    one.add_argument("--student", default="*", metavar="ID", help="this one alone; * stands for anything")
    _add_where(one)
    one.set_defaults(run=_feedback)

    one = commands.add_parser("doctor", help="what this machine has for grading, and what is missing")
    one.add_argument("--json", action="store_true", help="one object, for programs")
    one.set_defaults(run=_doctor)

    one = commands.add_parser("demo", help="a made class through nbgrader's whole cycle")
    one.add_argument("--folder", type=Path, default=Path("demo"), help="where; it is made anew")
    one.add_argument("--students", type=int, default=24, metavar="N")
    one.add_argument("--seed", type=int, default=1, metavar="S", help="another seed, another class")
    one.set_defaults(run=_demo)

    one = commands.add_parser("sample", help="a class of made submissions to try things on")
    one.add_argument("folder", type=Path, metavar="DIR", help="where to write it, such as submitted")
    one.add_argument("--students", type=int, default=24, metavar="N")
    one.add_argument("--seed", type=int, default=1, metavar="S", help="another seed, another class")
    one.set_defaults(run=_sample)
    return parser


def _add_where(one: argparse.ArgumentParser) -> None:
    """Who does the work of a class, and which gradebook it is for."""
    who = one.add_mutually_exclusive_group()
    who.add_argument("--workers", type=_count, metavar="N", help="processes on this machine; one a core")
    who.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster that does the work")
    one.add_argument("--db", metavar="URL", help="the gradebook; nbgrader_config.py names it otherwise")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is too few: 1 at least")
    return number


def _build(options: argparse.Namespace) -> int:
    from . import build as building

    course = find_course()
    assignments = select(options.assignments)
    if options.back:
        for one in assignments:
            if building.bring_back(course, one):
                print(f"{course.text(one).relative_to(course.root)}: brought back from source")
    changes = building.build(course, assignments, check=options.check)
    for change in changes:
        print(change if options.check else change.rsplit(":", 1)[0])
    if options.check and changes:
        print("run 'autograder build' and commit what it changes", file=sys.stderr)
        return 1
    return 0


def _audit(options: argparse.Namespace) -> int:
    try:
        from . import audit as auditing
    except ModuleNotFoundError as error:
        raise CourseError(f"the audit needs {error.name}: install the package with its extra 'dev'") from None
    rows = auditing.audit(find_course(), select(options.assignments))
    print(json.dumps(auditing.as_json(rows)) if options.json else auditing.as_text(rows))
    return int(any(row.faults for row in rows))


def _check(options: argparse.Namespace) -> int:
    from .check import check

    code = 0
    for path in options.files:
        checked = check(find_course(Path.cwd(), path.parent, Path(__file__).parent), path)
        print(json.dumps(checked.as_json()) if options.json else checked.as_text())
        code = max(code, 2 if not checked.readable else int(checked.score < checked.max_score))
    return code


def _grade(options: argparse.Namespace) -> int:
    course, assignments = find_course(), select(options.assignments)
    from .grade import Terms
    from .marking import ready
    from .workers import crew_of

    crew = crew_of(options.workers, options.scheduler, ready)  # gets ready while we go on
    from .classroom import Order
    from .office import grade_class

    terms = Terms(figures=options.figures, confined=options.isolation == "full")
    order = Order(assignments, options.student, options.regrade, terms)
    return grade_class(course, order, crew, options.db, options.json).code


def _feedback(options: argparse.Namespace) -> int:
    course, assignments = find_course(), select(options.assignments)
    from .feedback import ready
    from .workers import crew_of

    crew = crew_of(options.workers, options.scheduler, ready)
    from .classroom import Order
    from .office import make_feedback

    return make_feedback(course, Order(assignments, options.student), crew, options.db)


def _doctor(options: argparse.Namespace) -> int:
    from .doctor import diagnose

    found = diagnose()
    print(json.dumps(found.as_json()) if options.json else found.as_text())
    return 0 if found.able else 1


def _demo(options: argparse.Namespace) -> int:
    from .demo import demo

    return demo(find_course(), options.folder, options.students, options.seed)


def _sample(options: argparse.Namespace) -> int:
    from .sample import make_class

    plans = make_class(find_course(), options.folder, options.students, options.seed)
    handed_in = sum(map(len, plans.values()))
    print(f"{options.folder}: {handed_in} submissions by {len(plans)} students; class.json says what each is")
    return 0
