"""Where an update's time goes, and what it costs to give memory back.

The shipped translator learns on from its captions, with the batches of its
recipe. A profile says which operations take the processor's time. Then the
same updates run in two fresh processes: in one, glibc gives freed memory back
to the kernel, as it does by default; in the other it keeps it, as `train` has
it do.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from copy import deepcopy
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from annotated_transformer.data import encode_pairs, training_batches
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.system.memory import keep_freed_memory
from annotated_transformer.training import updates

from .shared import shipped_translator
from .shared.grid import Result, grid
from .shared.shipped_translator import corpus, translator

RECIPE: dict[str, Any] = shipped_translator.RECIPE | {
    "recipe": "multi30k-2017",
    "pairs": 1000,
    "first": 1,  # updates that are not counted
    "counted": 2,
}
PARTS = {  # by what the name of an operation contains
    "products of matrices": ("mm", "bmm", "matmul"),
    "attention": ("attention",),
    "softmax and loss": ("softmax", "SmoothedCrossEntropy", "exp_"),
    "dropout": ("dropout", "bernoulli"),
    "norms": ("layer_norm",),
    "Adam": ("adam",),
}
ALLOCATOR = ("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_")


class Updates:
    """Updates of the shipped translator, some at a time."""

    def __init__(self, seed: int):
        model = deepcopy(translator().model)
        recipe = RECIPES[RECIPE["recipe"]].train
        pairs = corpus().train[: RECIPE["pairs"]]
        examples, _ = encode_pairs(
            pairs, translator().tokenizer, recipe.max_length
        )
        batches = training_batches(examples, recipe.batch_tokens, seed)
        width = model.config.d_model
        optimizer = adam(model.parameters())
        self.run = updates(model, batches, optimizer, recipe, width)

    def __call__(self, count: int) -> None:
        """Make so many."""
        for _ in range(count):
            next(self.run)


def part_of(operation: str) -> str:
    """The part of an update that an operation belongs to."""
    for part, names in PARTS.items():
        if any(name in operation for name in names):
            return part
    return "the rest"


def profiled(seed: int) -> Result:
    """The share of each part in the time of the updates' operations."""
    run = Updates(seed)
    run(RECIPE["first"])
    with profile(activities=[ProfilerActivity.CPU]) as found:
        run(RECIPE["counted"])
    times: Counter[str] = Counter()
    for operation in found.key_averages():
        times[part_of(operation.key)] += operation.self_cpu_time_total
    return {part: time / times.total() for part, time in times.items()}


def counted(seed: int, kept: bool) -> Result:
    """What an update takes in this process, which keeps memory or does not."""
    torch.set_num_threads(1)
    if kept and not keep_freed_memory():
        raise RuntimeError("there is no glibc here, so nothing to keep")
    run = Updates(seed)
    run(RECIPE["first"])
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.process_time()
    run(RECIPE["counted"])
    took = time.process_time() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    number = RECIPE["counted"]
    return {
        "seconds": took / number,
        "system_seconds": (after.ru_stime - before.ru_stime) / number,
        "faults": (after.ru_minflt - before.ru_minflt) / number,
    }


def in_a_process(seed: int, kept: bool) -> Result:
    """`counted` in a fresh process, whose glibc is set by nothing else."""
    code = (
        "import json; from experiments.update_profile import counted; "
        f"print(json.dumps(counted({seed}, {kept})))"
    )
    environment = {k: v for k, v in os.environ.items() if k not in ALLOCATOR}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    result: Result = json.loads(ended.stdout)
    return result


SEEDS = range(3)
RUNS = grid(profiled, "profile seed={seed}", seed=SEEDS)
RUNS |= grid(
    in_a_process,
    "memory {memory} seed={seed}",
    memory={"given back": {"kept": False}, "kept": {"kept": True}},
    seed=SEEDS,
)
