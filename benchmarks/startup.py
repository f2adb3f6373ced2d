"""How soon a command answers: processor time of whole processes, in turns.

Run alone it needs nothing but the package: python -m benchmarks.startup.
"""

import os
import resource
import subprocess
import sys
from statistics import median
from typing import Any

MODULE = ("-m", "annotated_transformer")
PYTHON, TORCH, PACKAGE = "python", "import torch", "import of the package"
LINE = "translate one line"
# its words, the line on its standard input, and its exit status
WORK = {
    PYTHON: (("-c", ""), "", 0),
    TORCH: (("-c", "import torch"), "", 0),
    PACKAGE: (("-c", "import annotated_transformer"), "", 0),
    "--help": ((*MODULE, "--help"), "", 0),
    "train --help": ((*MODULE, "train", "--help"), "", 0),
    "a bad option": ((*MODULE, "train", "x", "--no-such-option"), "", 2),
    LINE: (
        (*MODULE, "translate", "multi30k-en-de", "--device=cpu"),
        "A dog runs on the beach.\n",
        0,
    ),
}


def seconds(words: tuple[str, ...], line: str, status: int) -> float:
    """Processor time of one Python process; RuntimeError if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [sys.executable, *words],
        input=line,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != status or (line and not ended.stdout.strip()):
        raise RuntimeError(f"{words}: {ended.returncode}\n{ended.stderr}")
    user = after.ru_utime - before.ru_utime
    return user + after.ru_stime - before.ru_stime


def summary(samples: dict[str, list[float]]) -> dict[str, Any]:
    """Medians, and the two comparisons, each the median of its rounds."""
    pairs = zip(samples[PACKAGE], samples[PYTHON], strict=True)
    ratios = zip(samples[LINE], samples[TORCH], strict=True)
    return {
        "seconds": {name: median(row) for name, row in samples.items()},
        "import_beyond_python": median(a - b for a, b in pairs),
        "line_by_torch": median(a / b for a, b in ratios),
        "samples": samples,
    }


def measure(rounds: int) -> dict[str, Any]:
    """Each command once a round, A B C A B C ..., and what that took."""
    for work in WORK.values():
        seconds(*work)  # unmeasured: it reads files that nobody has read yet
    samples: dict[str, list[float]] = {name: [] for name in WORK}
    for _ in range(rounds):
        for name, work in WORK.items():
            samples[name].append(seconds(*work))
    found = summary(samples)
    print("\nFrom a command to its answer, processor time")
    for name, row in samples.items():
        spread = f"{min(row):.2f} to {max(row):.2f}"
        print(f"{name:34}{median(row):8.2f} s  ({spread})")
    beyond, ratio = found["import_beyond_python"], found["line_by_torch"]
    print(f"{PACKAGE}: {beyond:.2f} s beyond Python's own start")
    print(f"{LINE}: {ratio:.2f} times as long as {TORCH}", flush=True)
    return found


if __name__ == "__main__":
    measure(rounds=5)
