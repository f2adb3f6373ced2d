"""Nothing is lost and nothing is trusted: kills, full disks, hostile files.

`make soak` sets SOAK and runs the same tests at full length.
"""

import gzip
import json
import os
import random
import re
import shutil
import signal
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
    disturbed,
    in_child,
    read_only,
    soaked,
    struck,
)
from histories import HISTORY
from hostile import HOSTILE, hostile
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mutants import Resumed, mend_sums, mutants, read, translated
from safetensors.torch import load_file, save_file
from small_runs import CORPUS, MUON, PAIRS, SMALL, curve, learning

from annotated_transformer import training
from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.checkpoints import (
    read_checkpoint,
    read_metrics,
)
from annotated_transformer.storage.model_folder import save_model
from annotated_transformer.system.atomic_files import read_json
from annotated_transformer.translation import Translator

SOAK = bool(os.environ.get("SOAK"))
KILLS, SENTENCES, MUTANTS = (50, 10_000, 1000) if SOAK else (5, 500, 50)

WORK, WITH_MUON = (
    Work(CORPUS, learning(recipe, steps=12, checkpoint_every=3))
    for recipe in (SMALL, MUON)
)


class Whole(NamedTuple):
    """An uninterrupted run."""

    work: Work
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
        for name, path in ours.items():
            if path.is_file():
                assert content(path) == content(theirs[name]), name


def content(path):
    """What a file says of a run, but for times."""
    if path.name.startswith("step-"):
        parts, progress = read_checkpoint(path)
        lines = (*({**x, "seconds": 0} for x in progress.metrics),)
        tensors = {
            f"{kind} {name}": tensor.tolist()
            for kind, part in parts.items()
            for name, tensor in part.items()
        }
        return replace(progress, seconds=0.0, metrics=lines), tensors
    if path.name == "metrics.jsonl":
        return curve(path.parent)
    if path.name == "run.json":  # midnight may have passed
        return read_json(path) | {"date": ""}
    varying = {"config.json", "README.md"}  # which have the seconds
    return path.name in varying or path.read_bytes()


def undisturbed_run(work, folder):
    began = time.monotonic()
    status, (_, operations) = in_child(disturbed, 0, 0, work, folder)
    assert status == 0
    return Whole(work, folder, operations, time.monotonic() - began)


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    return undisturbed_run(WORK, tmp_path_factory.mktemp("whole") / "model")


@pytest.fixture
def with_muon(tmp_path):
    return undisturbed_run(WITH_MUON, tmp_path / "whole")


# Kills and signals

STOPS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


@pytest.mark.parametrize(
    ("run", "kills"), [("whole", KILLS), ("with_muon", KILLS // 2)]
)
def test_stopped_at_any_moment_a_run_ends_like_any_other(
    run, kills, request, tmp_path
):
    """Killed or told to stop, again and again; also while it validates."""
    whole = request.getfixturevalue(run)
    rng, stops = random.Random(KILLS), 0
    for number in count():
        if stops == kills:
            break
        output, ended = tmp_path / str(number), False
        while not ended:
            at, after, what = 0, 1000, signal.SIGKILL  # never
            if stops < kills and rng.random() < 0.3:
                after = rng.uniform(0, whole.seconds)
            elif stops < kills:
                at = rng.randint(1, whole.operations)
                what = rng.choice([signal.SIGKILL, *STOPS])
            given = (disturbed, at, what, whole.work, output)
            status, found = in_child(*given, kill_after=after)
            ended = status == 0 and found[0]
            # before its updates and after them a run dies of a signal
            assert status in (0, 1, *(-x for x in (signal.SIGKILL, *STOPS)))
            stops += not ended
        whole.same(output)


# Disks


@pytest.mark.parametrize("number", range(8 if SOAK else 2))
@pytest.mark.parametrize("fault", FAULTS)
def test_a_folder_that_fails(whole, tmp_path, fault, number):
    """In one line, whenever it does; what was whole can be read."""
    if fault == "full" and in_child(can_mount) != (0, True):
        pytest.skip("this process may not mount a disk")
    output = tmp_path / "model"
    rng = random.Random(f"{fault} {number}")
    at = rng.randint(4, whole.operations)
    status, found = in_child(struck, fault, at, WORK, tmp_path)
    assert status == 0
    told, before, left = found
    assert "cannot be" in told or "have gone" in told or not told
    over = at == whole.operations  # all is written, and nothing is to be said
    assert "\n" not in told and (told or over or fault != "vanished")
    assert max(before, default="") <= max(left, default="")
    if fault != "full":  # whose disk has gone with the process
        whole.same(output)


def test_a_read_only_folder_is_named(tmp_path):
    if in_child(can_mount) != (0, True):
        pytest.skip("this process may not mount a disk")
    status, told = in_child(read_only, WORK, tmp_path)
    assert status == 0 and len(told) == 2
    assert all("model cannot be written (Read-only" in one for one in told)


# Numbers that are not finite


def test_what_is_not_finite_is_never_written(whole, tmp_path, monkeypatch):
    """And the run goes on from before it."""
    output, update, plain = tmp_path / "model", 8, training.batch_loss
    calls = count(1)

    def loss(*arguments):
        """A loss whose gradient is not finite, in one update."""
        total = plain(*arguments)
        return total + (0 * total).sqrt() if next(calls) == update else total

    with monkeypatch.context() as patch:
        patch.setattr("annotated_transformer.runs.objectives.batch_loss", loss)
        with pytest.raises(UserError, match=r"by update .* lower `peak_lr"):
            WORK.into(output)
    names = sorted(path.stem for path in (output / "checkpoints").iterdir())
    assert names[-1] == "step-00000006"
    assert read_metrics(output)[-1]["step"] == 6
    WORK.into(output)
    whole.same(output)


# Damaged and hostile folders

# All that is said of a model folder, whatever has happened to it.
TOLD = re.compile(
    r"\S+: no trained model here \(config\.json: .+\); name another folder|"
    r"\S+(config\.json|model\.safetensors|tokenizer\.model): .+; "
    r"copy the whole folder again(, or .+)?"
)


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory):
    """A small model of subwords, with random weights."""
    folder = tmp_path_factory.mktemp("good") / "model"
    tokenizer = train_tokenizer([a for a, _ in PAIRS], 40)
    torch.manual_seed(0)
    sizes = ModelConfig(len(tokenizer), 2, 8, 8, 2)
    save_model(folder, transformer(sizes), tokenizer, HISTORY)
    return folder


def all_well(found):
    """Assert that mutants did no harm, and that there were some."""
    status, found = found
    assert status == 0
    assert found.broken == {}
    assert found.taken and found.refused
    assert found.memory < 2**28
    return found.refused


def test_mutated_models(model_folder, tmp_path):
    numbers = range(MUTANTS)
    found = in_child(mutants, model_folder, tmp_path, numbers, translated)
    for told in all_well(found):
        assert TOLD.fullmatch(told) and len(told) < 500, told


def test_hostile_models(model_folder, tmp_path):
    status, found = in_child(hostile, model_folder, tmp_path, kill_after=100)
    assert status == 0
    assert found.taken == [] and found.broken == {}
    assert found.refused.keys() == HOSTILE.keys()
    for name, told in found.refused.items():
        assert HOSTILE[name][1] in told and len(told) < 500, name
        assert TOLD.fullmatch(told.replace(str(tmp_path / name), "x")), told
    assert found.memory < 2**26  # bytes, for all of them


def test_overflowing_weights_end_a_translation(model_folder, tmp_path):
    folder = shutil.copytree(model_folder, tmp_path / "model")
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name in tensors:
        if "feed_forward" in name:
            tensors[name] *= 1e38
    save_file(tensors, path)
    mend_sums(folder)
    assert in_child(translated, folder, kill_after=100) == (0, None)


def test_mutated_runs(whole, tmp_path):
    numbers = range(MUTANTS // 2)
    use = Resumed(WORK)
    all_well(in_child(mutants, whole.folder, tmp_path, numbers, use))


def test_mutated_corpora(tmp_path):
    good = tmp_path / "good"
    good.mkdir()
    lines = "".join(f"{source} é\u2028\n" for source, _ in PAIRS).encode()
    (good / "a.txt").write_bytes(lines)
    (good / "b.gz").write_bytes(gzip.compress(lines, mtime=0))
    table = "".join(f"{source}\t{target}\n" for source, target in PAIRS)
    (good / "c.tsv").write_text(table)
    rows = "".join(f'"{source}","{target}"\n' for source, target in PAIRS)
    (good / "c.csv").write_text(f"source,target\n{rows}")
    objects = (dict(zip(("source", "target"), x, strict=True)) for x in PAIRS)
    (good / "c.jsonl").write_text("\n".join(map(json.dumps, objects)))
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


@example(ODD)
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
