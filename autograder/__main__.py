"""`python -m autograder` is the `autograder` program."""

import sys

from .cli import main

sys.exit(main())
