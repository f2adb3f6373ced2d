"""What a program costs before its work begins: whole processes, in turns."""

import resource
import subprocess
import sys
from statistics import median

PROGRAM = [sys.executable, "-m", "annotated_transformer"]
LINE = b"A dog runs.\n"
TORCH = "import torch"
COMMANDS = {
    TORCH: [sys.executable, "-c", TORCH],
    "Python alone": [sys.executable, "-c", "pass"],
    "import annotated_transformer": [
        *(sys.executable, "-c", "import annotated_transformer")
    ],
    "annotated-transformer --help": [*PROGRAM, "--help"],
    "... train --help": [*PROGRAM, "train", "--help"],
    "... train out --nonsense": [*PROGRAM, "train", "out", "--nonsense"],
    "... translate, one line": [*PROGRAM, "translate", "multi30k-en-de"],
}


def seconds(command: list[str]) -> float:
    """The processor time of one process, from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=LINE, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(after[:2]) - sum(before[:2])


def start(rounds: int) -> dict[str, dict]:
    """Seconds to start, and how many times those of `import torch`."""
    for command in COMMANDS.values():
        seconds(command)  # unmeasured: files may not be in memory yet
    turns = [
        {name: seconds(command) for name, command in COMMANDS.items()}
        for _ in range(rounds)
    ]
    print(f"\n{'Starting, seconds of processor time':38}{TORCH:>26} = 1")
    rows = {}
    for name in COMMANDS:
        samples = [turn[name] for turn in turns]
        ratio = median(turn[name] / turn[TORCH] for turn in turns)
        rows[name] = {
            "seconds": median(samples),
            "ratio": ratio,
            "samples": samples,
        }
        spread = f"{min(samples):.3f} to {max(samples):.3f}"
        print(
            f"{name:34}{median(samples):8.3f} ({spread}){ratio:8.2f}",
            flush=True,
        )
    return rows
