"""Measure everything, print the ratios, write the record: `make bench`."""

import argparse
import json
import sys
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import torch

from annotated_transformer.data import Example
from annotated_transformer.model import PRESETS
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.machine import environment

from . import ct2, decoding, joey, startup, systems, training
from .clock import Maker, Record, Rows, interleave, summary
from .clock import measure as measured
from .text import VOCABULARY, Text, text

PEERS = ("transformers", "joeynmt", "ctranslate2")
OURS, TORCH = "this package", "torch.nn.Transformer"
MARIAN, JOEY, CT2 = "Hugging Face Marian", "JoeyNMT", "CTranslate2"
PRODUCT = "matrix product"
SMOKE = 8  # a smoke test has an eighth of the work, and measures nothing


def show(title: str, unit: str, rows: Rows) -> None:
    """Print a summary as a table."""
    print(f"\n{title}\n{'':34}{unit:>18}{'by the clock':>14}{'ours is':>12}")
    for name, row in rows.items():
        print(
            f"{name:34}{row['rate']:18,.0f}{row['wall_rate']:14,.0f}"
            f"{row['ratio']:10.2f} x",
            flush=True,
        )


def train(
    preset: str, parts: list[list[Example]], rounds: int, bf16: bool
) -> Record:
    """Training on one thread: tokens a second, memory, share of the peak."""
    config = replace(PRESETS[preset], vocab_size=VOCABULARY)
    work = config, parts
    makers: dict[str, Maker] = {
        OURS: (training.ours, work),
        TORCH: (training.theirs, (systems.TorchLoss, *work)),
        MARIAN: (
            training.theirs,
            (systems.MarianLoss, replace(config, pre_norm=False), parts),
        ),
        JOEY: (training.theirs, (joey.JoeyLoss, *work)),
        f"{OURS}, bf16": (training.ours, (*work, "cpu", True)),
        PRODUCT: (training.product, (2048,)),
    }
    if not bf16:
        del makers[f"{OURS}, bf16"]
    samples, memory, _ = interleave(makers, len(parts), rounds)
    rows = summary(samples, memory)
    product = rows.pop(PRODUCT)
    show(f"Training, {preset} preset", "target tokens/s", rows)
    each = training.operations(config, parts) / samples[OURS][0].work
    product["share"] = each * rows[OURS]["rate"] / product["rate"]
    print(f"{product['share']:.0%} of the {PRODUCT}: ", end="")
    print(f"{product['rate'] / 1e9:.0f} GFLOP/s")
    for name, row in rows.items():
        print(f"{row['memory'] / 2**20:6.0f} MiB more while training: {name}")
    return {"systems": rows, "product": product, "operations": each}


def translate(parts: list[list[list[int]]], rounds: int) -> Record:
    """Beam 5 on one thread: sentences a second, and who agrees with us."""
    work = replace(PRESETS["tiny"], vocab_size=VOCABULARY), parts
    makers = {
        name: (decoding.decode, (make, *work, *options))
        for name, make, *options in (
            (OURS, decoding.ours),
            (MARIAN, decoding.marian),
            (JOEY, joey.joeynmt),
            (f"{CT2}, float32", ct2.ct2, "float32"),
            (f"{CT2}, int8", ct2.ct2, "int8"),
        )
    }
    samples, memory, outputs = interleave(makers, len(parts), rounds)
    rows = summary(samples, memory)
    show("Beam search", "sentences/s", rows)
    number = sum(map(len, parts))
    for name, row in rows.items():
        row["identical"] = sum(
            mine == theirs
            for part in range(len(parts))
            for mine, theirs in zip(
                outputs[OURS][part], outputs[name][part], strict=True
            )
        )
        print(f"{row['identical']:4} of {number} as ours: {name}")
    return {"systems": rows, "sentences": number}


def lengths(tokens: int = 4096) -> dict[int, float]:
    """Bytes a target token of training, by the length of the sentences."""
    config = replace(PRESETS["tiny"], vocab_size=VOCABULARY)
    memory = {}
    print("\nMemory of training, the same tokens a batch")
    for length in (32, 128, 512, 1024):
        if length > tokens:
            break
        row = list(range(4, 4 + length))
        part = [(row, row)] * (tokens // length)
        makers = {OURS: (training.ours, (config, [part]))}
        memory[length] = interleave(makers, 1, 1)[1][OURS] / tokens
        print(f"sentences of {length:4}: {memory[length]:,.0f} bytes a token")
    return memory


def not_here() -> dict[str, str]:
    """What this machine cannot measure, and why."""
    jobs = training.product(256), training.product(256, bf16=True)
    seconds = [min(measured(job, 0)[1] for _ in range(4)) for job in jobs]
    factor = seconds[1] / seconds[0]
    if factor <= 1:
        return {}
    return {"bf16": f"products take {factor:.1f} times as long in it"}


def measure(
    found: Text, rounds: int, left_out: Collection[str], part: int = 1
) -> Record:
    """Everything but what is left out; of all sizes, one part of so many."""
    bf16 = "bf16" not in left_out
    sources = sorted(found.sources[: 512 // part], key=len)
    size, tokens = 64 // part, 4096 // part
    batches = [sources[i : i + size] for i in range(0, len(sources), size)]
    return {
        "training": {
            "tiny": train("tiny", found.batches(tokens, 3), rounds, bf16),
            "base": train("base", found.batches(tokens // 4, 2), rounds, bf16),
        },
        "decoding": translate(batches, rounds),
        "bytes_a_token": lengths(tokens),
        "startup": startup.measure(rounds),
    }


def main(arguments: Sequence[str]) -> None:
    """Read the command line, measure, and write the record if one is named."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("record", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--smoke", action="store_true")
    given = parser.parse_args(arguments)
    if given.record and not given.record.parent.is_dir():
        parser.error(f"{given.record}: there is no such folder")
    torch.set_num_threads(1)
    found = text()
    about = environment()
    about["versions"] |= {name: version(name) for name in PEERS}
    # not the arguments: the record's path is no reader's
    about["command"] = f"python -m benchmarks --rounds {given.rounds}"
    about["command"] += " --smoke" * given.smoke
    about["text"] = found.name
    about["left_out"] = not_here()
    print(f"{about['machine']['processor']}, {found.name}, one thread")
    part = SMOKE if given.smoke else 1
    record = about | measure(found, given.rounds, about["left_out"], part)
    for name, why in about["left_out"].items():
        print(f"left out: {name}: {why}")
    if given.record:
        write_text(given.record, json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
