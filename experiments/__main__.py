"""`python -m experiments`; a process that is spawned cannot import this."""

import sys

from .engine import main

main(sys.argv[1:])
