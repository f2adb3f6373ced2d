"""`python -m experiments`; a process that is spawned cannot import this."""

import sys

from .shared.run_and_record import main

main(sys.argv[1:])
