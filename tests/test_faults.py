"""Nothing is lost and nothing is trusted: kills, full disks, hostile files.

`make soak` sets SOAK and runs the same tests at full length.
"""

import gzip
import math
import os
import random
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from faults import (
    FAULTS,
    Work,
    can_mount,
    in_child,
    killed_at,
    killed_validating,
    soaked,
    struck,
)
from histories import HISTORY
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants import (
    Resumed,
    averaged,
    mutants,
    read,
    translated,
)

from annotated_transformer import training
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.storage.metrics import read_metrics
from annotated_transformer.storage.model_folder import save_model
from annotated_transformer.system.atomic_files import read_json
from annotated_transformer.training import TrainConfig
from annotated_transformer.translation import Translator

SOAK = bool(os.environ.get("SOAK"))
KILLS, SENTENCES, MUTANTS = (50, 10_000, 1000) if SOAK else (5, 500, 50)

PAIRS = copy_task(60)
WORK = Work(
    Corpus(PAIRS[10:], PAIRS[:10], {}, "copy", "xx", "xx", {"train": "1"}),
    Recipe(
        ModelConfig(layers=1, d_model=8, d_ff=8, heads=2, pre_norm=True),
        TrainConfig(
            steps=12,
            batch_tokens=200,
            warmup=2,
            checkpoint_every=2,
            average=2,
        ),
        tokenizer="char",
    ),
)


class Whole(NamedTuple):
    """An uninterrupted run."""

    folder: Path
    operations: int
    seconds: float

    def same(self, folder: Path) -> None:
        """Assert that a folder ends as this one does, bit for bit."""
        ours, theirs = (
            {path.relative_to(root): path for path in root.rglob("*")}
            for root in (self.folder, folder)
        )
        assert ours.keys() == theirs.keys()
        varying = {"metrics.jsonl", "config.json", "README.md"}  # seconds
        for name, path in ours.items():
            if path.name == "run.json":  # midnight may have passed
                assert undated(path) == undated(theirs[name])
            elif path.is_file() and path.name not in varying:
                assert path.read_bytes() == theirs[name].read_bytes(), name
        assert curve(folder) == curve(self.folder)


def undated(path):
    return read_json(path) | {"date": ""}


def steps(folder):
    return [line["step"] for line in read_metrics(folder)]


def curve(folder):
    return [{**line, "seconds": 0} for line in read_metrics(folder)]


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "model"
    began = time.monotonic()
    status, operations = in_child(killed_at, 0, WORK, folder)
    assert status == 0
    return Whole(folder, operations, time.monotonic() - began)


# Kills


def test_kill_9_at_any_moment_loses_nothing(whole, tmp_path):
    rng, kills = random.Random(KILLS), 0
    for number in count():
        if kills == KILLS:
            break
        output, status = tmp_path / str(number), None
        while status != 0:
            at, after = 0, 1000  # never
            if kills < KILLS and rng.random() < 0.5:
                after = rng.uniform(0, whole.seconds)
            elif kills < KILLS:
                at = rng.randint(1, whole.operations)
            status, _ = in_child(killed_at, at, WORK, output, kill_after=after)
            assert status in (0, -9)
            kills += status == -9
        whole.same(output)


@pytest.mark.parametrize("number", range(1, 8) if SOAK else [1, 5])
def test_a_kill_during_validation_loses_no_line(whole, tmp_path, number):
    """Of metrics; so the best checkpoint is known, and kept."""
    output = tmp_path / "model"
    status, _ = in_child(killed_validating, number, WORK, output)
    assert status == -9
    WORK.into(output)
    whole.same(output)


# Disks


LEFT = {  # as which file is made the fault strikes; updates kept by then
    ".run.json.part": 0,
    ".step-00000008.safetensors.part": 6,
    "metrics.jsonl": 2,
    "config.json": 12,
}


@pytest.mark.parametrize("name", LEFT)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_disk_that_fails(whole, tmp_path, fault, name):
    if fault != "limited" and in_child(can_mount) != (0, True):
        pytest.skip("this process may not mount a disk")
    status, result = in_child(struck, fault, name, WORK, tmp_path)
    assert status == 0
    told, left, weights = result
    file = name.removeprefix(".").removesuffix(".part")
    told = told.replace("model cannot", "model/config.json cannot")
    assert f"{file} cannot be written (" in told and "make room" in told
    kept = {".new"} if fault == "read-only" else set()
    assert {Path(x).parts[0] for x in left if x.startswith(".")} <= kept
    assert not [x for x in left if Path(x).name.endswith(".part")]
    assert max((step_of(x) for x in left), default=0) == LEFT[name]
    assert "config.json" not in left
    assert weights == (whole.folder / "model.safetensors").read_bytes()


def step_of(path):
    """The update of a checkpoint; 0 for any other file."""
    stem = Path(path).stem
    return int(stem.removeprefix("step-")) if "step-" in stem else 0


# Numbers that are not finite


def poisoned(monkeypatch, update, poison):
    """Poison the loss of one update."""
    plain, calls = training.batch_loss, count(1)

    def loss(*arguments):
        total = plain(*arguments)
        return poison(total) if next(calls) == update else total

    monkeypatch.setattr("annotated_transformer.runs.loop.batch_loss", loss)


POISONS = {
    "nan": lambda loss: loss * math.nan,
    "infinite": lambda loss: loss * math.inf,
    # the loss is finite, its gradient is not
    "gradient": lambda loss: loss + (0 * loss).sqrt(),
}


@pytest.mark.parametrize(
    ("poison", "update"),
    [("nan", 6), ("nan", 7), ("infinite", 7), ("gradient", 7)],
)
def test_what_is_not_finite_ends_a_run(
    whole, tmp_path, monkeypatch, poison, update
):
    output = tmp_path / "model"
    with monkeypatch.context() as patch:
        poisoned(patch, update, POISONS[poison])
        with pytest.raises(UserError, match=f"update {update}.*`peak_rate`"):
            WORK.into(output)
    last = update - 1 - (update - 1) % 2
    assert max(map(step_of, (output / "checkpoints").iterdir())) == last
    assert steps(output)[-1] == last
    WORK.into(output)
    whole.same(output)


# Hostile folders


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """A small model of subwords, with random weights."""
    folder = tmp_path_factory.mktemp("good") / "model"
    tokenizer = train_tokenizer([a for a, _ in PAIRS], 40)
    torch.manual_seed(0)
    sizes = ModelConfig(len(tokenizer), 2, 8, 8, 2)
    save_model(folder, transformer(sizes), tokenizer, HISTORY)
    return folder


def test_a_run_that_diverges_goes_on_or_says_why(tmp_path):
    for number, rate in enumerate((30.0, 1e5, 1e10, 1e38)):
        config = replace(WORK.recipe.train, peak_rate=rate, warmup=1)
        work = WORK._replace(recipe=replace(WORK.recipe, train=config))
        output = tmp_path / str(number)
        try:
            translated(work.into(output))
        except UserError as error:
            assert "`peak_rate`" in str(error)


def all_well(found):
    """Assert that mutants did no harm, and that there were some."""
    status, found = found
    assert status == 0
    assert found.broken == {}
    assert found.taken and found.refused
    assert found.memory < 2**28


@pytest.mark.parametrize("use", [averaged, Resumed(WORK)])
def test_mutated_runs(whole, tmp_path, use):
    numbers = range(MUTANTS // 2)
    all_well(in_child(mutants, whole.folder, tmp_path, numbers, use))


def test_mutated_corpora(tmp_path):
    good = tmp_path / "good"
    good.mkdir()
    lines = "".join(f"{source} é\u2028\n" for source, _ in PAIRS).encode()
    (good / "a.txt").write_bytes(lines)
    (good / "b.gz").write_bytes(gzip.compress(lines, mtime=0))
    table = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (good / "c.tsv").write_text(table)
    all_well(in_child(mutants, good, tmp_path, range(4 * MUTANTS), read))


# Any text


@pytest.fixture(scope="session")
def translator(model_folder):
    return Translator.load(model_folder)


ODD = [
    *("\0", "\ufeff", "\r", "a\rb", "\u2028", "\x85", "\x1b[2J", "\u202eabc"),
    *("e" + "\u0301" * 99, "\uffff", "\U0010ffff", "▁", "⁇", "<s>", "</s>"),
    *(
        "\ud800",
        "a\udfffb",
        "語" * 40_000,
        "\t" * 999,
        " a" * 999,
        "\U0001f469\u200d\U0001f680",
    ),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: ascii(odd[:9]))
def test_odd_text_is_one_line(translator, odd):
    (line,) = translator([odd], beam=1)
    assert "\n" not in line


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=5))
@settings(max_examples=500 if SOAK else 30)
def test_any_text_gives_a_line_for_each(translator, texts):
    lines = translator(texts, beam=2)
    assert len(lines) == len(texts)
    for line, text in zip(lines, texts, strict=True):
        assert "\n" not in line
        assert text.strip() or line == ""


def test_memory_stays_flat(model_folder):
    status, memory = in_child(soaked, model_folder, SENTENCES)
    assert status == 0
    early, late = memory
    assert late - early < 2**22  # bytes
