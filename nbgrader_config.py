"""nbgrader's configuration of this course; every nbgrader command run in this folder reads it."""

import os
import sys
from pathlib import Path

from autograder.nbgrader_plugin import configure

c = get_config()  # noqa: F821  (traitlets hands it in)

# nbgrader looks for its helper `alembic` on the PATH, where an environment that is not activated
# does not put it.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

c.CourseDirectory.course_id = "autograd-by-hand"
c.CourseDirectory.root = str(Path(__file__).parent)

# The exchange is a folder that instructors and students share; without one, hand the plain folders
# release/ and submitted/<student>/<assignment>/ around by any other means.
c.Exchange.root = os.environ.get("AUTOGRADER_EXCHANGE", str(Path(__file__).parent / "exchange"))

# What a student finds in the place of a solution.
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError()"}
c.ClearSolutions.text_stub = "*Write your answer here, in a few sentences.*"

# A cell that runs on and on costs itself, not the night.
c.Execute.timeout = 30

# Submissions are mended, run in a confined process and judged outside of it. Without this line plain
# nbgrader still grades, but in a kernel that student code could talk into a score.
configure(c)
