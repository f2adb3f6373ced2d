"""What many pairs cost: `python -m benchmarks.pairs RECORD.json`.

Pairs are made up, 45,000 to 4,500,000 of them, and each row is a process:
as lists of Python's numbers, encoded into an empty cache, the command `train`,
to the end of its first update, when the cache has all that it needs, the same
and then all batches of an epoch, and JoeyNMT to its first batch, where it is
installed.
"""

import json
import os
import resource
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from subprocess import Popen
from typing import Any

from annotated_transformer.commands.app import main as command
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.data import Tokenizer, encode_pairs
from annotated_transformer.runs.batches import TrainingText
from annotated_transformer.runs.encoding import encoded
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import recipe_of
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.cache import CACHE, VARIABLE, Cache
from annotated_transformer.system.machine import environment

from .clock import largest
from .command_line import record_path
from .made_pairs import write_pairs

SIZES = 45_000, 200_000, 1_000_000, 4_500_000
LISTS, ENCODED, TRAIN = "lists", "encoded", "first update"
EPOCH, JOEY = "and all batches", "JoeyNMT's first batch"
MOST = 1_000_000  # pairs as lists, which take 3 GB


def work(job: str, folder: Path) -> None:
    """One row, in a process of its own."""
    paths, valid = [folder / "pairs.en", folder / "pairs.de"], folder / "valid"
    tokenizer = Tokenizer((folder / "tokenizer.model").read_bytes())
    few = [valid / path.name for path in paths]
    if job == LISTS:
        encode_pairs(read_parallel(paths), tokenizer, 256)
    elif job == JOEY:
        from .joey import read_first_batch

        read_first_batch(folder)
    elif job in (TRAIN, EPOCH):
        sys.argv = ["annotated-transformer", "train", str(folder / "model")]
        sys.argv += ["--train", *map(str, paths), "--valid", *map(str, few)]
        sys.argv += ["--preset=tiny", "--max-steps=1", "--warmup=1"]
        sys.argv += ["--device=cpu"]
        with suppress(SystemExit):  # which ends every command
            command()
    if job == ENCODED:
        corpus = Corpus.from_files(paths, few, "en", "de")
        encoded(corpus.train, tokenizer, "bpe", CACHE)
    elif job == EPOCH:  # what the update's memory was is kept for the next
        corpus = Corpus.from_files(paths, few, "en", "de")
        ids = encoded(corpus.train, tokenizer, "bpe", CACHE)
        text = TrainingText(ids, (), recipe_of())
        for _ in islice(text.batches(), text.batches_an_epoch()):
            pass


def row(job: str, folder: Path) -> dict[str, float]:
    """Seconds and the most memory of a job in a process of its own."""
    cache = {VARIABLE: str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "benchmarks.pairs", "--row", job]
    began = time.monotonic()
    process = Popen([*words, str(folder)], env=os.environ | cache)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{job}: {status}")
    return {
        "processor": used.ru_utime + used.ru_stime,
        "wall": time.monotonic() - began,
        "memory": float((folder / "memory").read_text()),
    }


def measure(size: int, folder: Path) -> dict[str, Any]:
    """The rows of so many pairs, written into an empty folder."""
    paths = write_pairs(size, folder)
    (folder / "valid").mkdir()
    valid = write_pairs(500, folder / "valid", seed=1)
    corpus, recipe = Corpus.from_files(paths, valid, "en", "de"), recipe_of()
    tokenizer = learn_tokenizer(corpus, recipe, Cache(kept=False))
    (folder / "tokenizer.model").write_bytes(tokenizer.model)
    jobs = [LISTS] * (size <= MOST) + [ENCODED]
    found = {job: row(job, folder) for job in jobs}
    row(TRAIN, folder)  # which fills the cache
    shutil.rmtree(folder / "model")
    for job in [TRAIN, EPOCH] + [JOEY] * bool(find_spec("joeynmt")):
        found[job] = row(job, folder)
        shutil.rmtree(folder / "model", ignore_errors=True)
    return found


def show(size: int, found: dict[str, Any]) -> None:
    """Print the rows of so many pairs."""
    for job, one in found.items():
        print(
            f"{size:10,} {job:22}{one['processor']:8.1f} s"
            f"{one['wall']:8.1f} s by the clock"
            f"{one['memory'] / 2**20:8,.0f} MiB",
            flush=True,
        )


def main(path: Path) -> None:
    """Measure all sizes, print the rows, write the record."""
    rows = {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            rows[size] = measure(size, Path(folder))
        show(size, rows[size])
    about = environment() | {"command": "python -m benchmarks.pairs"}
    write_text(path, json.dumps(about | {"pairs": rows}, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--row"]:
        folder = Path(sys.argv[3])
        work(sys.argv[2], folder)
        started = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        most = max(largest(), started * 1024)
        (folder / "memory").write_text(str(most))
    else:
        main(record_path("benchmarks.pairs", __doc__))
