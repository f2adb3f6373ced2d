"""Run what prints or asks for numbers, with sums in another order.

A notebook or a test is fragile if two processors can disagree about it. Those
of others are not here, but their orders of adding up are: this processor can
be told to work as older ones do, and sums can be shaken
(tests/support/shaken.py). What moves under any of them is listed, and should
print fewer digits, print what is meant (`below 1e-12`), or be tagged
`measured`.
"""

import argparse
import os
import subprocess
import sys

from chapters import ROOT

# What each library reads when a process starts. The names of features are
# those of all its releases; it takes no notice of others.
OLD = {
    "MKL_CBWR": "COMPATIBLE",  # products of matrices
    "ATEN_CPU_CAPABILITY": "default",  # sums, norms, exp: all of PyTorch's own
    "ONEDNN_MAX_CPU_ISA": "SSE41",  # convolutions
    "OPENBLAS_CORETYPE": "Nehalem",  # NumPy's and SciPy's products
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX "
    "AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V3 X86_V4",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
}
AVX2 = {
    "MKL_CBWR": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX "
    "AVX512_CNL AVX512_ICL AVX512_SPR X86_V4",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F",
}
MACHINES = {
    "old": OLD,
    "avx2": AVX2,
    **{f"seed {seed}": {"SHAKE": str(seed)} for seed in (1, 2, 3)},
}
# Sums that are permuted in Python take longer than a cell is given otherwise.
PYTEST = [sys.executable, "-m", "pytest", "--nbval-cell-timeout=3000"]
# These have pages and files to do with, and add nothing up.
LEFT_OUT = ["tests/book", "tests/tools", "tests/benchmarks"]


def moved(machine: str, words: list[str]) -> list[str]:
    """What fails on a machine; RuntimeError if pytest does not come to it."""
    process = subprocess.Popen(
        [*PYTEST, *words],
        cwd=ROOT,
        env=os.environ | {"CI": "true"} | MACHINES[machine],
        stdout=subprocess.PIPE,
        text=True,
    )
    found = []
    for line in process.stdout or ():
        print(line, end="", flush=True)
        if line.startswith(("FAILED ", "ERROR ")):
            found.append(line.split(" - ")[0].rstrip())
    if process.wait() > 1:
        raise RuntimeError(
            f"{machine}: pytest ended with {process.returncode}"
        )
    return found


def main() -> int:
    """Print what moves, and where; 1 if anything does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--on",
        nargs="+",
        choices=MACHINES,
        default=list(MACHINES),
        help="which machines (default: all)",
    )
    parser.add_argument("words", nargs="*", help="what pytest is to run")
    arguments = parser.parse_args()
    words = arguments.words or [f"--ignore={name}" for name in LEFT_OUT]
    where: dict[str, list[str]] = {}
    for machine in arguments.on:
        print(f"\n{machine}: {MACHINES[machine]}", flush=True)
        for test in moved(machine, ["-q", "-n2", "--dist=loadfile", *words]):
            where.setdefault(test, []).append(machine)
    print(f"\n{len(where)} moved")
    for test, machines in sorted(where.items()):
        print(f"{test}: {', '.join(machines)}")
    return 1 if where else 0


if __name__ == "__main__":
    sys.exit(main())
