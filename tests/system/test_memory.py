"""Memory that is freed is used again, not fetched from the kernel anew."""

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="glibc is asked for it"
)
FAULTS = """
import sys
from resource import RUSAGE_SELF, getrusage
from annotated_transformer.system.memory import keep_freed_memory

if sys.argv[1] == "keep":
    assert keep_freed_memory()
bytearray(2**26)
before = getrusage(RUSAGE_SELF).ru_minflt
for _ in range(5):
    bytearray(2**26)
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    """How often the kernel had to find a page, in five times 64 MiB."""
    # as glibc is set by itself, and not as the Makefile sets it
    plain = {x: os.environ[x] for x in os.environ if "MALLOC" not in x}
    command = [sys.executable, "-c", FAULTS, how]
    return int(subprocess.check_output(command, env=plain))


def test_pages_are_found_once():
    assert faults("give back") > 100
    assert faults("keep") < 10
