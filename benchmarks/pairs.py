"""What many pairs cost: `python -m benchmarks.pairs RECORD.json`.

Pairs are made up, 45,000 to 4,500,000 of them, and each row is a process:
as lists of Python's numbers, encoded into an empty cache, the command `train`,
to the end of its first update, when the cache has all that it needs, all
batches of an epoch, and JoeyNMT to its first batch, where it is installed.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from subprocess import Popen
from typing import Any

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

from .command_line import record_path
from .made_pairs import write_pairs

SIZES = 45_000, 200_000, 1_000_000, 4_500_000
LISTS, ENCODED, TRAIN = "lists", "encoded", "first update"
EPOCH, JOEY = "an epoch's batches", "JoeyNMT's first batch"
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
    else:
        corpus = Corpus.from_files(paths, few, "en", "de")
        if job == ENCODED:
            encoded(corpus.train, tokenizer, "bpe", CACHE)
            return
        text = TrainingText(corpus, tokenizer, recipe_of())
        for _ in islice(text.batches(), len(text.epoch_batches(0))):
            pass


def row(words: list[str], cache: Path) -> dict[str, float]:
    """Seconds and the most memory of a Python process with these words."""
    variables = {**os.environ, VARIABLE: str(cache), "OMP_NUM_THREADS": "1"}
    began = time.monotonic()
    process = Popen([sys.executable, "-m", *words], env=variables)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{words}: {status}")
    return {
        "processor": used.ru_utime + used.ru_stime,
        "wall": time.monotonic() - began,
        "memory": used.ru_maxrss * 1024,  # of the largest process
    }


def measure(size: int, folder: Path) -> dict[str, Any]:
    """The rows of so many pairs, written into an empty folder."""
    paths = write_pairs(size, folder)
    (folder / "valid").mkdir()
    valid = write_pairs(500, folder / "valid", seed=1)
    corpus, recipe = Corpus.from_files(paths, valid, "en", "de"), recipe_of()
    tokenizer = learn_tokenizer(corpus, recipe, Cache(kept=False))
    (folder / "tokenizer.model").write_bytes(tokenizer.model)
    cache, found = folder / "cache", {}
    own = ["benchmarks.pairs", "--row"]
    for job in (LISTS, ENCODED) if size <= MOST else (ENCODED,):
        found[job] = row([*own, job, str(folder)], cache)
    words = ["annotated_transformer", "train", str(folder / "model")]
    words += ["--train", *map(str, paths), "--valid", *map(str, valid)]
    words += ["--preset=tiny", "--max-steps=1", "--warmup=1", "--device=cpu"]
    row(words, cache)  # which fills the cache
    shutil.rmtree(folder / "model")
    found[TRAIN] = row(words, cache)
    for job in (EPOCH, JOEY) if find_spec("joeynmt") else (EPOCH,):
        found[job] = row([*own, job, str(folder)], cache)
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
        work(sys.argv[2], Path(sys.argv[3]))
    else:
        main(record_path("benchmarks.pairs", __doc__))
