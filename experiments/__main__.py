"""`python -m experiments`; a process that is spawned cannot import this."""

import sys

from .shared.command_line import main

main(sys.argv[1:])
