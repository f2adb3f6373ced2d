"""Runs that are stopped, killed, resumed, refused or out of time."""

import copy
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics import BLEU

from annotated_transformer import Translator, training
from annotated_transformer.corpora.corpus import Corpus, Extra
from annotated_transformer.corpora.generated import builtin_corpus, copy_corpus
from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import (
    PRESETS,
    ModelConfig,
    transformer,
)
from annotated_transformer.runs import folder, loop, run
from annotated_transformer.runs.folder import RunFolder
from annotated_transformer.runs.recipes import RECIPES, Recipe, recipe_of
from annotated_transformer.runs.run import train
from annotated_transformer.runs.setup import choose_device, inherit
from annotated_transformer.storage.averaging import average_checkpoints
from annotated_transformer.storage.checkpoints import checkpoint_weights
from annotated_transformer.storage.metrics import read_metrics
from annotated_transformer.storage.model_folder import read_tokenizer
from annotated_transformer.storage.weight_files import (
    read_tensors,
    set_weights,
)
from annotated_transformer.system.signals import stop_signals
from annotated_transformer.training import TrainConfig

SMALL = Recipe(
    ModelConfig(layers=1, d_model=8, d_ff=8, heads=2, pre_norm=True),
    TrainConfig(
        steps=6,
        batch_tokens=200,
        warmup=2,
        checkpoint_every=2,
        average=2,
    ),
    tokenizer="char",
)


@pytest.fixture(scope="module")
def corpus():
    pairs = copy_task(60)
    sums = {"train": "1", "valid": "2"}
    return Corpus(pairs[10:], pairs[:10], {}, "copy", "xx", "xx", sums)


def same_weights(one, other):
    tensors, others = (
        read_tensors(folder / "model.safetensors")[0]
        for folder in (one, other)
    )
    assert tensors.keys() == others.keys()
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)


def interrupted(output, options, number):
    """Send a running training a signal after its first checkpoint."""
    words = [sys.executable, "-m", "annotated_transformer", "train"]
    process = subprocess.Popen(
        [*words, str(output), *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    device, first = (process.stderr.readline() for _ in range(2))
    process.send_signal(number)
    rest = process.stderr.read()
    process.stderr.close()
    assert device.startswith("training on cpu ("), device + first + rest
    assert first.startswith("update 8 of 40:"), first + rest
    return process.wait(), rest


def test_a_stopped_run_ends_like_any_other(
    command, recipe_options, trained, tmp_path
):
    output = tmp_path / "model"
    status, told = interrupted(output, recipe_options, signal.SIGINT)
    assert status == 128 + signal.SIGINT
    assert f"with --resume continues {output}" in told.splitlines()[-1]
    assert list((output / "checkpoints").glob("step-*.safetensors"))
    refused = command("translate", output)
    assert refused.status == 1 and "no trained model here" in refused.err
    resumed = command("train", output, *recipe_options, "--resume")
    assert resumed.status == 0, resumed.err
    assert "continuing after update" in resumed.err
    same_weights(output, trained)
    steps = [line["step"] for line in read_metrics(output)]
    assert set(range(8, 41, 8)) <= set(steps) and steps == sorted(set(steps))


def test_a_killed_run_ends_like_any_other(
    command, recipe_options, trained, tmp_path
):
    output = tmp_path / "model"
    status, _ = interrupted(output, recipe_options, signal.SIGKILL)
    assert status == -signal.SIGKILL
    # what a write that was under way would have left
    part = output / "checkpoints" / ".step-00000099.safetensors.part"
    part.mkdir()
    (part / "step-00000099.safetensors").write_bytes(b"half")
    with (output / "metrics.jsonl").open("a") as file:
        file.write('{"step": 9')
    resumed = command("train", output, *recipe_options, "--resume")
    assert resumed.status == 0, resumed.err
    same_weights(output, trained)
    assert not list((output / "checkpoints").glob(".*"))
    assert [x["step"] for x in read_metrics(output)] == [8, 16, 24, 32, 40]


def test_resume_of_a_finished_run_makes_the_model_again(
    command, recipe_options, trained, tmp_path
):
    output = shutil.copytree(trained, tmp_path / "model")
    (output / "model.safetensors").unlink()
    ended = command("train", output, *recipe_options, "--resume")
    assert ended.status == 0
    assert "all 40 updates are done already" in ended.err
    same_weights(output, trained)


def contents(folder):
    """The bytes of every file under a folder, by name."""
    return {x: x.read_bytes() for x in folder.rglob("*") if x.is_file()}


def test_a_finished_run_without_its_checkpoints_is_not_begun_again(
    command, recipe_options, trained, tmp_path
):
    output = shutil.copytree(trained, tmp_path / "model")
    shutil.rmtree(output / "checkpoints")
    words = ("train", output, *recipe_options, "--resume")
    for lost in ("", "metrics.jsonl", "config.json"):
        if lost:
            shutil.copy(trained / "metrics.jsonl", output)
            (output / lost).unlink()
        before = contents(output)
        ended = command(*words, "--max-minutes=0")
        assert ended.status == 1
        assert "checkpoints of this run (step-*" in ended.err
        assert ("after update 40" in ended.err) == (lost != "metrics.jsonl")
        assert contents(output) == before


def test_a_worse_model_replaces_none(
    command, recipe_options, trained, tmp_path
):
    """Where some checkpoints are gone, and the rest makes a worse one."""
    output = shutil.copytree(trained, tmp_path / "model")
    *_, last = sorted((output / "checkpoints").iterdir())
    made = json.loads((output / "config.json").read_text())["history"][
        "result"
    ]
    weights = (output / "model.safetensors").read_bytes()
    words = ("train", output, *recipe_options, "--resume")
    # less has been learned
    last.unlink()
    ended = command(*words, "--max-minutes=0")
    assert ended.status == 0, ended.err
    perplexity = made["valid_perplexity"]
    told = f"of update 40, with a validation perplexity of {perplexity}, stays"
    assert told in ended.err.replace("\n", " ")
    assert (output / "model.safetensors").read_bytes() == weights
    assert command(*words).status == 0
    same_weights(output, trained)


def test_as_many_updates_replace_a_model_that_predicts_worse(tmp_path, corpus):
    """Or as well; but none that predicts better."""
    output = train(tmp_path / "model", corpus, SMALL, device="cpu")
    path = output / "config.json"
    config, weights = json.loads(path.read_text()), contents(output)
    for change, stays in ((-0.001, True), (0.001, False)):
        other = copy.deepcopy(config)
        other["history"]["result"]["valid_perplexity"] += change
        path.write_text(json.dumps(other))
        train(output, corpus, SMALL, device="cpu", resume=True)
        assert (json.loads(path.read_text()) == other) == stays
    assert contents(output) == weights


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", '{"step": 2}'),
        json.dumps(dict.fromkeys(folder.LEARNED, "2")),
        json.dumps(dict.fromkeys(folder.LEARNED, 10**400)),
        json.dumps(dict.fromkeys(folder.LEARNED, math.nan)),
    ],
)
def test_a_damaged_note_of_a_checkpoint_is_named(tmp_path, text):
    folder = RunFolder(tmp_path, every=2, average=2)
    assert folder.find_pending(2) is None
    (tmp_path / "pending.json").write_text(text)
    with pytest.raises(UserError, match="pending.json: .* delete the file"):
        folder.find_pending(2)


def test_resume_with_another_recipe_names_the_field(
    command, recipe_options, trained
):
    words = ("train", trained, *recipe_options, "--resume")
    ended = command(*words, "--max-steps=41")
    assert ended.status == 1
    assert "train.steps = 40, now it is 41" in ended.err
    ended = command(*words, "--preset=small", "--seed=3")
    assert "model.layers = 4, now it is 6" in ended.err


def other_batches(recipe, **given):
    return replace(recipe, train=replace(recipe.train, **given))


def one_update(output, corpus, recipe, **given):
    train(output, corpus, recipe, device="cpu", max_minutes=0.0, **given)


def changes(output, file="run.json"):
    plain = json.loads((output / file).read_text())
    return plain.get("history", plain).get("changes", [])


FEWER = {"batch_tokens": 100, "accumulate": 2}  # for SMALL's 200 and 1
CHANGED = [
    {"after": 1, "name": "batch_tokens", "was": 200, "now": 100},
    {"after": 1, "name": "accumulate", "was": 1, "now": 2},
]


def test_resume_may_change_the_batches(tmp_path, corpus, capsys):
    """And goes on, with what it changed to, to the last bit."""
    fewer = other_batches(SMALL, **FEWER)
    whole, again = tmp_path / "whole", tmp_path / "again"
    one_update(whole, corpus, SMALL)
    shutil.copytree(whole, again)
    capsys.readouterr()
    train(whole, corpus, fewer, device="cpu", resume=True)
    told = capsys.readouterr().err
    assert (
        "after update 1 batch_tokens is 100 (was 200) and accumulate is 2 "
        "(was 1): from there on the text comes in another order"
    ) in told
    for _ in range(3):
        one_update(again, corpus, fewer, resume=True)
    train(again, corpus, fewer, device="cpu", resume=True)
    assert capsys.readouterr().err.count("another order") == 1
    same_weights(whole, again)
    for output in (whole, again):
        assert changes(output) == changes(output, "config.json") == CHANGED
        began = json.loads((output / "run.json").read_text())["recipe"]
        assert Recipe.from_json(began).train == SMALL.train
    card = (whole / "README.md").read_text()
    assert "| batch_tokens after update 1 | 100, not 200 |" in card


@dataclass(frozen=True)
class Steps(TrainConfig):
    """A training whose rate falls in steps, as no schedule here does."""

    factor: float = 0.5

    def rate(self, step, d_model):
        return 0.01 * self.factor ** (step // 2)


def test_a_schedule_of_ones_own_is_recorded_and_kept(tmp_path, corpus):
    own = replace(SMALL, train=Steps(**vars(SMALL.train)))
    name = f"{__name__}.Steps"
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train(whole, corpus, own, device="cpu")
    one_update(parts, corpus, own)
    for recipe, was, now in [
        (SMALL, name, "inverse_sqrt"),
        (other_batches(SMALL, schedule="linear"), name, "linear"),
        (other_batches(own, factor=0.4), "factor = 0.5", "0.4"),
    ]:
        with pytest.raises(UserError, match=f"{was}, now it is {now};"):
            train(parts, corpus, recipe, device="cpu", resume=True)
    train(parts, corpus, own, device="cpu", resume=True)
    same_weights(whole, parts)
    for file in ("run.json", "config.json"):
        plain = json.loads((parts / file).read_text())
        recipe = plain.get("history", plain)["recipe"]
        assert recipe["train"]["schedule"] == name
        assert "inverse_sqrt" not in json.dumps(plain)
    # its batches may change as those of any other
    fewer = other_batches(own, **FEWER)
    one_update(tmp_path / "less", corpus, own)
    one_update(tmp_path / "less", corpus, fewer, resume=True)
    assert changes(tmp_path / "less") == CHANGED


def test_a_run_does_not_go_on_with_a_schedule_of_ones_own(tmp_path, corpus):
    one_update(tmp_path, corpus, SMALL)
    own = replace(SMALL, train=Steps(**vars(SMALL.train)))
    told = r"schedule = inverse_sqrt, now it is .*\.Steps; resume with"
    with pytest.raises(UserError, match=told):
        train(tmp_path, corpus, own, device="cpu", resume=True)


def test_a_finished_run_has_no_batches_to_change(tmp_path, corpus):
    train(tmp_path, corpus, SMALL, device="cpu")
    fewer = other_batches(SMALL, **FEWER)
    train(tmp_path, corpus, fewer, device="cpu", resume=True)
    assert changes(tmp_path) == []


def test_without_a_change_the_order_stays(tmp_path, corpus, capsys):
    train(tmp_path / "whole", corpus, SMALL, device="cpu")
    one_update(tmp_path / "again", corpus, SMALL)
    train(tmp_path / "again", corpus, SMALL, device="cpu", resume=True)
    same_weights(tmp_path / "whole", tmp_path / "again")
    assert changes(tmp_path / "again") == []
    assert "another order" not in capsys.readouterr().err


def sources(output, corpus, recipe, number):
    """The first batches that a run reads when it is resumed."""
    tokenizer = read_tokenizer(output)
    sizes = replace(recipe.model, vocab_size=len(tokenizer))
    one = loop.Run(output, corpus, recipe, tokenizer, transformer(sizes))
    one.rewind()
    batches = one.training_batches()
    return [next(batches).source.tolist() for _ in range(number)]


def test_changed_batches_are_an_epoch_of_their_own(tmp_path, corpus):
    fewer = other_batches(SMALL, **FEWER)
    one_update(tmp_path, corpus, SMALL)
    one_update(tmp_path, corpus, fewer, resume=True)
    one_update(tmp_path, corpus, SMALL, resume=True)  # and back
    one_update(tmp_path, corpus, fewer, resume=True)
    assert changes(tmp_path)[:2] == CHANGED and len(changes(tmp_path)) == 6
    RunFolder(tmp_path, 1, 1).checkpoints()[-1].unlink()
    found = sources(tmp_path, corpus, fewer, 20)
    rows = [tuple(row) for batch in found for row in batch]
    ends = [tuple(x for x in row if x) for row in rows[:50]]
    assert len(set(ends)) == 50  # the whole text, nothing twice
    one_update(tmp_path / "new", corpus, fewer)
    RunFolder(tmp_path / "new", 1, 1).checkpoints()[-1].unlink()
    assert sources(tmp_path / "new", corpus, fewer, 20) != found


def test_changes_of_updates_that_are_lost_are_lost(tmp_path, corpus):
    fewer = other_batches(SMALL, **FEWER)
    folder = RunFolder(tmp_path, 2, 2)
    train(tmp_path, corpus, SMALL, device="cpu", max_minutes=0.0)
    saved = folder.checkpoint(1).read_bytes()
    one_update(tmp_path, corpus, SMALL, resume=True)
    one_update(tmp_path, corpus, fewer, resume=True)
    assert [x["after"] for x in changes(tmp_path)] == [2, 2]
    for path in folder.checkpoints():
        path.unlink()
    folder.checkpoint(1).write_bytes(saved)
    one_update(tmp_path, corpus, SMALL, resume=True)
    assert changes(tmp_path) == []


@pytest.mark.parametrize(
    "damage",
    [5, [5], [{}], [CHANGED[0] | {"now": -1}], [CHANGED[0] | {"name": 3}]],
)
def test_damaged_changes_are_refused(tmp_path, corpus, damage):
    one_update(tmp_path, corpus, SMALL)
    path = tmp_path / "run.json"
    history = json.loads(path.read_text()) | {"changes": damage}
    path.write_text(json.dumps(history))
    with pytest.raises(UserError, match="not the beginning of a run"):
        train(tmp_path, corpus, SMALL, resume=True)


def test_resume_with_other_text_is_refused(tmp_path, corpus):
    train(tmp_path / "model", corpus, SMALL, device="cpu")
    other = replace(corpus, checksums={"train": "3", "valid": "2"})
    with pytest.raises(UserError, match=r"other text \(train differs\)"):
        train(tmp_path / "model", other, SMALL, resume=True)


def test_resume_from_another_model_is_refused(tmp_path, corpus):
    """Before its first checkpoint a run would go on from that one."""
    for name, seed in (("one", 1), ("two", 2)):
        recipe = replace(SMALL, train=replace(SMALL.train, seed=seed))
        train(tmp_path / name, corpus, recipe, device="cpu")
    child = tmp_path / "child"
    train(child, corpus, SMALL, start=tmp_path / "one", device="cpu")
    with pytest.raises(UserError, match="did not begin with that model"):
        train(child, corpus, SMALL, start=tmp_path / "two", resume=True)
    train(child, corpus, SMALL, start=tmp_path / "one", resume=True)


@pytest.mark.parametrize("text", ["{", "[]", '{"recipe": {}}'])
def test_resume_of_a_damaged_run_is_refused(tmp_path, corpus, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match="not the beginning of a run"):
        train(tmp_path, corpus, SMALL, resume=True)


@pytest.mark.parametrize("fast", [True, False])
def test_a_run_goes_on_as_fast_as_it_began(tmp_path, corpus, capsys, fast):
    options = {"device": "cpu", "fast": fast}
    whole = train(tmp_path / "whole", corpus, SMALL, **options)
    part = train(tmp_path / "part", corpus, SMALL, max_minutes=0.0, **options)
    assert json.loads((part / "run.json").read_text())["fast"] == fast
    for asked in (fast, not fast):
        again = shutil.copytree(part, tmp_path / f"{asked}")
        capsys.readouterr()
        train(again, corpus, SMALL, device="cpu", resume=True, fast=asked)
        told = f"began with fast={fast} and goes on so"
        assert (told in capsys.readouterr().err) == (asked != fast)
        same_weights(again, whole)


def test_an_older_run_was_fast(tmp_path, corpus, undisturbed):
    output = tmp_path / "model"
    train(output, corpus, SMALL, device="cpu", max_minutes=0.0)
    path = output / "run.json"
    about = json.loads(path.read_text())
    path.write_text(json.dumps({**about, "fast": "no"}))
    with pytest.raises(UserError, match="not the beginning of a run"):
        train(output, corpus, SMALL, device="cpu", resume=True)
    del about["fast"]
    path.write_text(json.dumps(about))
    train(output, corpus, SMALL, device="cpu", resume=True, fast=False)
    same_weights(output, undisturbed)


def test_out_of_time_makes_a_model_and_can_go_on(
    command, recipe_options, trained, tmp_path
):
    output = tmp_path / "model"
    words = ("train", output, *recipe_options)
    ended = command(*words, "--max-minutes=0")
    assert ended.status == 0
    assert "ready after update 1 of 40" in ended.err
    assert isinstance(Translator.load(output)("abc"), str)
    ended = command(*words, "--max-minutes=5", "--resume")
    assert ended.status == 0, ended.err
    same_weights(output, trained)


def test_the_model_is_the_mean_of_the_last_checkpoints(tmp_path, corpus):
    output = train(tmp_path / "model", corpus, SMALL, device="cpu")
    paths = sorted((output / "checkpoints").iterdir())
    assert [path.stem for path in paths][-2:] == [
        "step-00000004",
        "step-00000006",
    ]
    states = [checkpoint_weights(path) for path in paths[-2:]]
    config = json.loads((output / "config.json").read_text())
    count = config["history"]["result"]["averaged"]
    model, _ = read_tensors(output / "model.safetensors")
    for name, tensor in model.items():
        mean = sum(state[name] for state in states[-count:]) / count
        torch.testing.assert_close(tensor, mean)


def test_an_average_that_is_worse_is_not_taken(tmp_path, corpus):
    # from almost random weights, each update helps: the last is the best
    fast = replace(SMALL.train, peak_rate=0.02, steps=60, average=30)
    output = train(tmp_path / "model", corpus, replace(SMALL, train=fast))
    config = json.loads((output / "config.json").read_text())
    result = config["history"]["result"]
    lines = read_metrics(output)
    assert result["averaged"] == 1
    assert result["valid_perplexity"] == lines[-1]["valid_perplexity"]
    assert lines[-1]["valid_loss"] < lines[0]["valid_loss"]


def test_checkpoints_that_an_interruption_left_are_not_averaged(tmp_path):
    folder = RunFolder(tmp_path, every=4, average=2)
    for step in (4, 8, 10, 12, 13):
        folder.checkpoint(step).touch()

    def steps(paths):
        return [int(path.stem[5:]) for path in paths]

    assert steps(folder.kept()) == [8, 12, 13]
    assert steps(folder.averaged()) == [12, 13]
    folder.prune()
    assert steps(folder.checkpoints()) == [8, 12, 13]
    folder.checkpoint(16).touch()
    assert steps(folder.averaged()) == [12, 16]


def test_the_best_checkpoint_is_kept(tmp_path):
    folder = RunFolder(tmp_path, every=2, average=2)
    nan = float("nan")  # neither less than a number nor more
    losses = {1: nan, 2: 3.0, 4: 1.0, 6: nan, 8: 2.0, 10: 1.5, 12: 1.0}
    for step, loss in losses.items():
        folder.checkpoint(step).touch()
        line = {"step": step, "seconds": step, "valid_loss": loss}
        folder.add_metrics(line)
        folder.prune()
    kept = [int(path.stem[5:]) for path in folder.checkpoints()]
    assert kept == [4, 8, 10, 12]
    assert folder.best() == folder.checkpoint(4)
    assert folder.averaged() == [folder.checkpoint(n) for n in (10, 12)]


def test_the_best_checkpoint_has_the_highest_bleu(tmp_path):
    folder = RunFolder(tmp_path, every=2, average=1)
    for step, loss, bleu in [(2, 1.0, 10.0), (4, 2.0, 12.0), (6, 3.0, 12.0)]:
        folder.checkpoint(step).touch()
        line = {"step": step, "seconds": step, "valid_loss": loss}
        folder.add_metrics(line | {"valid_bleu": bleu})
    assert folder.best() == folder.checkpoint(4)


def test_validation_sentences_are_translated(
    command, recipe_options, trained, tmp_path
):
    output = tmp_path / "model"
    asked = [*recipe_options, "--valid-bleu", "7"]
    result = command("train", output, *asked)
    assert result.status == 0, result.err
    same_weights(output, trained)  # to look at it changes nothing
    lines = read_metrics(output)
    assert f"BLEU {lines[-1]['valid_bleu']:.2f}, " in result.err
    translator = Translator.load(output)
    last = output / "checkpoints" / "step-00000040.safetensors"
    set_weights(translator.model, checkpoint_weights(last), last)
    sources, references = zip(*copy_task(440)[400:407], strict=True)
    outputs = [translator(source, beam=1) for source in sources]
    bleu = BLEU().corpus_score(outputs, [references]).score
    assert lines[-1]["valid_bleu"] == round(bleu, 2)


def test_sentences_that_are_left_out_are_not_translated(corpus, tmp_path):
    pairs = [("a" * 40, "a"), ("ab", "ba"), ("a", "a" * 40), ("c", "c")]
    tokenizer = train_tokenizer(map("".join, pairs), 40, "char")
    recipe = replace(SMALL, train=replace(SMALL.train, max_length=20))
    model = transformer(replace(recipe.model, vocab_size=len(tokenizer)))
    few = replace(corpus, train=pairs[1:2], valid=pairs)
    for asked, found in ((0, []), (1, pairs[1:2]), (10**30, pairs[1::2])):
        parts = few, recipe, tokenizer, model
        one = loop.Run(tmp_path, *parts, valid_bleu=asked)
        assert one.to_translate == found


def test_validation_is_scored_cased_and_greedy(corpus, tmp_path, monkeypatch):
    pairs = [("a b c d e", "A b c d e f g"), ("b c d e a", "b c d e a")]
    tokenizer = train_tokenizer(map("".join, pairs), 40, "char")
    model = transformer(replace(SMALL.model, vocab_size=len(tokenizer)))
    few = replace(corpus, train=pairs, valid=pairs)
    parts = few, SMALL, tokenizer, model

    class Echo(Translator):
        def __call__(self, texts, beam):
            assert beam == 1
            return texts

    monkeypatch.setattr(loop, "Translator", Echo)
    sources, references = zip(*pairs, strict=True)
    expected = BLEU().corpus_score(sources, [references]).score
    assert loop.Run(tmp_path, *parts, valid_bleu=2).bleu() == expected > 0


def test_a_beginning_that_was_killed_is_begun_again(tmp_path, corpus):
    output = tmp_path / "model"
    output.mkdir()
    (output / "tokenizer.model").write_bytes(b"half")
    (output / ".run.json.part").mkdir()
    train(output, corpus, SMALL, device="cpu")
    assert isinstance(Translator.load(output)("abc"), str)
    assert not list(output.glob(".*"))


LEFTOVERS = {  # what may have the name of a file on its way
    "folder": Path.mkdir,
    "file": Path.touch,
    "link": lambda path: path.symlink_to(path.parent.parent),
    "link to nothing": lambda path: path.symlink_to("nothing"),
    "pipe": getattr(os, "mkfifo", None),
}


@pytest.mark.parametrize("kind", LEFTOVERS)
@pytest.mark.parametrize(
    "name",
    [
        ".tokenizer.model.part",
        ".pending.json.part",
        "checkpoints/.step-00000006.safetensors.part",
        ".new",
    ],
)
def test_nothing_that_is_left_stops_a_run(
    kind, name, tmp_path, corpus, undisturbed
):
    if LEFTOVERS[kind] is None:
        pytest.skip("there are no such pipes here")
    output = shutil.copytree(undisturbed, tmp_path / "model")
    (output / "checkpoints/step-00000006.safetensors").unlink()
    (output / "config.json").unlink()
    LEFTOVERS[kind](output / name)
    train(output, corpus, SMALL, device="cpu", resume=True)
    same_weights(output, undisturbed)
    assert not [*output.rglob(".*")]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_has_the_name_of_a_file_is_said_to(tmp_path, corpus):
    output = tmp_path / "model"
    train(output, corpus, SMALL, device="cpu")
    metrics = output / "metrics.jsonl"
    metrics.unlink()
    metrics.symlink_to(metrics)
    (output / "checkpoints/step-00000006.safetensors").unlink()
    with pytest.raises(UserError, match="jsonl cannot be.*move away what"):
        train(output, corpus, SMALL, device="cpu", resume=True)


def test_a_model_waits_for_the_place_of_its_files(
    tmp_path, corpus, undisturbed
):
    output = shutil.copytree(undisturbed, tmp_path / "model")
    place = output / "model.safetensors"
    place.unlink()
    place.mkdir()
    with pytest.raises(UserError, match=rf"{place} cannot be .*move away"):
        train(output, corpus, SMALL, device="cpu", resume=True)
    Translator.load(output)
    place.rmdir()
    train(output, corpus, SMALL, device="cpu", resume=True)
    same_weights(output, undisturbed)


def test_a_folder_among_the_checkpoints_stays(tmp_path, corpus, undisturbed):
    output = shutil.copytree(undisturbed, tmp_path / "model")
    folder = output / "checkpoints" / "step-00000001.safetensors"
    folder.mkdir()
    train(output, corpus, SMALL, device="cpu", resume=True)
    same_weights(output, undisturbed)
    assert folder.is_dir()


def test_a_checkpoint_by_another_name_is_refused(
    tmp_path, corpus, undisturbed
):
    """Else the model would be the mean of others than is said."""
    output = shutil.copytree(undisturbed, tmp_path / "model")
    path = output / "checkpoints" / "step-00000004.safetensors"
    path = path.rename(path.with_stem("step-00000007"))
    before = contents(output)
    with pytest.raises(UserError, match=r"another update than it is \(4\)"):
        train(output, corpus, SMALL, device="cpu", resume=True)
    assert contents(output) == before
    with pytest.raises(UserError, match=r"another update than it is \(4\)"):
        average_checkpoints(tmp_path / "mean", [path])


def test_what_no_run_has_named_is_no_checkpoint(tmp_path, corpus, undisturbed):
    output = shutil.copytree(undisturbed, tmp_path / "model")
    folder = output / "checkpoints"
    names = [f"step-{x}.safetensors" for x in ("9", "000000009", "٩", "²")]
    for name in names:
        shutil.copy(folder / "step-00000004.safetensors", folder / name)
    (folder / "step-00000006.safetensors").unlink()
    train(output, corpus, SMALL, device="cpu", resume=True)
    same_weights(output, undisturbed)
    assert {*names} <= {path.name for path in folder.iterdir()}


@pytest.mark.skipif(sys.platform == "win32", reason="no locks")
def test_two_trainings_do_not_share_a_folder(tmp_path, corpus):
    output = tmp_path / "model"
    train(output, corpus, SMALL, device="cpu")
    with (
        RunFolder(output, 1, 1).alone(),
        pytest.raises(UserError, match="another training is going on here"),
    ):
        train(output, corpus, SMALL, device="cpu", resume=True)
    train(output, corpus, SMALL, device="cpu", resume=True)


def test_a_run_that_another_has_begun_meanwhile_stays(
    tmp_path, corpus, monkeypatch
):
    learn = run.learn_tokenizer

    def slowly(*words):
        (tmp_path / "run.json").write_text("another's")
        return learn(*words)

    monkeypatch.setattr(run, "learn_tokenizer", slowly)
    with pytest.raises(UserError, match="a run is here already"):
        train(tmp_path, corpus, SMALL, device="cpu")
    assert (tmp_path / "run.json").read_text() == "another's"


def test_a_run_that_could_not_be_read_back_does_not_begin(tmp_path, corpus):
    output = tmp_path / "model"
    with pytest.raises(ValueError, match="`command='a"):
        train(output, corpus, SMALL, device="cpu", command="a\udcff")
    assert not output.exists()


def test_a_run_that_fails_at_once_leaves_nothing(tmp_path, corpus):
    wild = replace(SMALL.train, peak_rate=1e38, warmup=1)
    with pytest.raises(UserError, match="lower `peak_rate`"):
        train(
            tmp_path / "model",
            corpus,
            replace(SMALL, train=replace(wild, checkpoint_every=9, steps=9)),
            device="cpu",
        )
    assert not (tmp_path / "model").exists()


def test_a_resume_that_fails_leaves_the_run_of_another(
    tmp_path, corpus, monkeypatch
):
    """It may be running still, and have no checkpoint yet."""
    output = tmp_path / "model"
    begin = RunFolder.begin

    def stop(self, *words):
        begin(self, *words)
        raise SystemError("killed here")

    monkeypatch.setattr(RunFolder, "begin", stop)
    monkeypatch.setattr(RunFolder, "abandon", lambda self: None)
    with pytest.raises(SystemError):
        train(output, corpus, SMALL, device="cpu")
    monkeypatch.undo()
    before = {path.name for path in output.iterdir()}

    def no_memory(self, deadline):
        raise MemoryError

    monkeypatch.setattr(loop.Run, "go", no_memory)
    with pytest.raises(UserError, match="out of memory after update 0"):
        train(output, corpus, SMALL, device="cpu", resume=True)
    assert {path.name for path in output.iterdir()} == before


@pytest.mark.parametrize("updates", [1, 2, 3])  # a checkpoint comes after 2
def test_out_of_memory_names_resume_where_there_is_a_checkpoint(
    tmp_path, corpus, monkeypatch, updates
):
    plain, seen = training.batch_loss, []

    def loss(model, batch, config):
        seen.append(batch)
        if len(seen) > updates:
            raise MemoryError
        return plain(model, batch, config)

    monkeypatch.setattr(loop, "batch_loss", loss)
    with pytest.raises(UserError, match=f"after update {updates}") as caught:
        train(tmp_path / "x", corpus, SMALL, device="cpu")
    saved = (tmp_path / "x").exists()
    assert saved == (updates > 1)
    assert ("`resume=True`" in str(caught.value)) == saved


def test_a_long_extra_pair_is_named_by_its_own_line(tmp_path, corpus, capsys):
    extra = [("a", "b"), ("a", "b"), ("a" * 30, "b")]
    extras = (Extra("first.tsv", 1), Extra("next.tsv", len(extra) - 1, 0.1))
    corpus = replace(corpus, train=corpus.train + extra, extras=extras)
    config = replace(SMALL.train, max_length=20)
    train(tmp_path / "x", corpus, replace(SMALL, train=config), device="cpu")
    told = capsys.readouterr().err
    assert "next.tsv: 1 of 2 pairs" in told and "the first in line 2 (" in told


def test_an_update_that_is_not_finite_ends_the_run(
    tmp_path, corpus, monkeypatch
):
    plain, seen = training.batch_loss, []

    def loss(model, batch, config):
        seen.append(batch)
        lost = math.nan if len(seen) == 9 else 1
        return plain(model, batch, config) * lost

    monkeypatch.setattr("annotated_transformer.runs.loop.batch_loss", loss)
    output = tmp_path / "model"
    config = replace(SMALL.train, accumulate=2)
    told = "update 5: the loss is nan.*; train with a lower `peak_rate`"
    with pytest.raises(UserError, match=told):
        train(output, corpus, replace(SMALL, train=config), device="cpu")
    names = [path.name for path in (output / "checkpoints").iterdir()]
    assert sorted(names) == [f"step-0000000{n}.safetensors" for n in (2, 4)]


def test_a_warm_up_that_never_ends_is_told(tmp_path, corpus, capsys):
    short = replace(SMALL, train=replace(SMALL.train, steps=3, warmup=9))
    train(tmp_path / "model", corpus, short, device="cpu")
    told = "rises until update 9, but the training ends at 3: shorten `warmup`"
    assert told in capsys.readouterr().err


def test_learned_positions_limit_the_length(tmp_path, corpus, capsys):
    learned = replace(SMALL.model, positions="learned", max_length=6)
    output = tmp_path / "model"
    train(output, corpus, replace(SMALL, model=learned), device="cpu")
    told = capsys.readouterr().err
    assert "more than 6 tokens on a side" in told
    assert "as many positions are learned" in told


def test_translate_names_the_line_that_is_too_long(command, tmp_path, corpus):
    learned = replace(SMALL.model, positions="learned", max_length=80)
    output = tmp_path / "model"
    train(output, corpus, replace(SMALL, model=learned), device="cpu")
    ended = command(
        "translate", output, stdin=b"abc\n" + b"a" * 90 + b"\nabc\n"
    )
    first, second, third, end = ended.out.split("\n")
    assert ended.status == 1 and first == third and second == end == ""
    assert "standard input, line 2: 92 tokens" in ended.err
    assert "80 positions; split the line" in ended.err


def hidden(folder, place):
    """Move a folder to a place."""
    folder.rename(place)


def removed(folder, place):
    """Remove a folder."""
    shutil.rmtree(folder)


def emptied(folder, place):
    """Remove what is in a folder."""
    for path in folder.iterdir():
        path.unlink() if path.is_file() else shutil.rmtree(path)


def replaced(folder, place):
    """Remove a folder, and put something else there."""
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "notes").write_text("mine")


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    return train(folder, corpus, SMALL, device="cpu")


GONE = {  # how a folder goes, and where the run is then
    hidden: "place",
    removed: "model",
    emptied: "model",
    replaced: "model-1",
}
MOMENTS = {"add_metrics": 4, "add_pending": 2, "finish": 6}  # updates done


@pytest.mark.parametrize(
    ("how", "method"),
    # what comes into its place while a checkpoint is written gets its files
    [
        (how, method)
        for how, method in product(GONE, MOMENTS)
        if (how, method) != (replaced, "add_pending")
    ],
)
def test_a_folder_that_goes_is_told_and_its_weights_are_kept(
    tmp_path, corpus, undisturbed, monkeypatch, how, method
):
    place, step = tmp_path / GONE[how], MOMENTS[method]
    if how is hidden and not os.path.exists("/proc/self/fd"):
        pytest.skip("this system does not say where a folder has gone")
    output, due = tmp_path / "model", [True]
    parent = loop.Run if method == "finish" else RunFolder
    plain = getattr(parent, method)

    def strike(self, *arguments):
        before = method == "finish"
        if not before:
            plain(self, *arguments)
        if due:
            due.clear()
            how(output, tmp_path / "place")
        if before:
            plain(self, *arguments)

    monkeypatch.setattr(parent, method, strike)
    with pytest.raises(UserError) as caught:
        train(output, corpus, SMALL, device="cpu")
    became = f"moved to {place}" if how is hidden else "removed"
    assert str(caught.value).startswith(f"{output}: {became} during the")
    assert f"after update {step} is in {place}: go" in str(caught.value)
    train(place, corpus, SMALL, device="cpu", resume=True)
    if how is hidden or step < 6:
        same_weights(place, undisturbed)
    assert [x["step"] for x in read_metrics(place)][-1] == 6
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {place.name} | ({"model"} if how is replaced else set())
    if how is replaced:
        assert [path.name for path in output.iterdir()] == ["notes"]


def test_a_training_needs_float32(tmp_path, corpus):
    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(UserError, match="default dtype is torch.float64"):
            train(tmp_path / "model", corpus, SMALL, device="cpu")
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert not list(tmp_path.iterdir())


def in_thread(function, *arguments, **options):
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(function, *arguments, **options).result()


def test_a_process_trains_one_model_at_a_time(
    tmp_path, corpus, undisturbed, monkeypatch
):
    plain, refused = loop.batch_loss, []

    def loss(*arguments):
        if not refused:
            with pytest.raises(UserError, match="in this process") as caught:
                in_thread(train, tmp_path / "two", corpus, SMALL)
            refused.append(caught.value)
        return plain(*arguments)

    monkeypatch.setattr(loop, "batch_loss", loss)
    one = train(tmp_path / "one", corpus, SMALL, device="cpu")
    same_weights(one, undisturbed)
    assert refused and not (tmp_path / "two").exists()
    same_weights(in_thread(train, tmp_path / "two", corpus, SMALL), one)


def test_what_other_threads_draw_changes_nothing(
    tmp_path, corpus, undisturbed, monkeypatch
):
    """Neither the first weights nor, on a CPU, what dropout leaves out."""
    assert SMALL.model.dropout > 0
    draws = 0

    def drawing(plain):
        def draw(*arguments, **options):
            nonlocal draws
            draws += 1
            in_thread(torch.rand, 7)
            return plain(*arguments, **options)

        return draw

    for owner, name in (
        (loop, "batch_loss"),
        (torch.nn.init, "xavier_uniform_"),
        (torch.nn.init, "normal_"),
    ):
        monkeypatch.setattr(owner, name, drawing(getattr(owner, name)))
    same_weights(train(tmp_path / "model", corpus, SMALL), undisturbed)
    assert draws > 12


def test_another_seed_ends_a_run(tmp_path, corpus, undisturbed, monkeypatch):
    plain, calls = loop.batch_loss, []

    def loss(*arguments):
        calls.append(1)
        if len(calls) == 4:
            in_thread(torch.manual_seed, 7)
        return plain(*arguments)

    output = tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "batch_loss", loss)
        with pytest.raises(UserError, match="by update 4 another thread had"):
            train(output, corpus, SMALL, device="cpu")
    train(output, corpus, SMALL, device="cpu", resume=True)
    same_weights(output, undisturbed)


def test_a_run_in_another_thread_has_no_signals(tmp_path, corpus):
    done = []
    thread = threading.Thread(
        target=lambda: done.append(train(tmp_path / "m", corpus, SMALL))
    )
    thread.start()
    thread.join()
    assert done == [tmp_path / "m"]


def test_a_second_ctrl_c_ends_at_once():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), stop_signals() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        assert stop == [signal.SIGTERM, signal.SIGINT]
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("preset", [None, *PRESETS])
@pytest.mark.parametrize("task", [None, *RECIPES])
def test_recipes_survive_json(task, preset):
    recipe = recipe_of(task, preset)
    text = json.dumps(recipe.as_json(), allow_nan=False)
    assert Recipe.from_json(json.loads(text)) == recipe


def test_devices():
    assert choose_device("cpu") == "cpu"
    assert choose_device() in ("cuda", "mps", "cpu")
    with pytest.raises(UserError, match="'tpu' is not at hand"):
        choose_device("tpu")


def test_progress_is_a_bar_on_a_terminal(tmp_path, corpus):
    pty = pytest.importorskip("pty")
    from annotated_transformer.system import console as own

    main, side = pty.openpty()
    with os.fdopen(side, "w") as terminal, pytest.MonkeyPatch.context() as m:
        m.setattr(own.console, "_file", terminal)
        train(tmp_path / "model", corpus, SMALL, device="cpu")
        terminal.flush()
        shown = os.read(main, 1 << 16).decode()
    os.close(main)
    assert "100%" in shown and "update 6 of 6" in shown


def test_the_copy_recipe_reads_its_corpus():
    recipe, letters = RECIPES["copy"], copy_corpus()
    letters = set().union(*(source for source, _ in letters.train))
    assert recipe.vocab_size >= len(letters) + 5


@pytest.fixture(scope="module")
def words():
    text = builtin_corpus()
    sums = {"train": "1", "valid": "2"}
    return replace(
        text, train=text.train[:300], valid=text.valid[:20], checksums=sums
    )


def bpe(**train):
    config = replace(SMALL.train, **train)
    return replace(SMALL, train=config, tokenizer="bpe", vocab_size=300)


def test_a_run_with_both_regularisers_can_be_resumed(tmp_path, words):
    recipe = bpe(r_drop=2.0, bpe_dropout=0.1)
    whole = train(tmp_path / "whole", words, recipe, device="cpu")
    part = train(tmp_path / "part", words, recipe, device="cpu")
    for step in (4, 6):  # as if it had been killed after update 2
        (part / f"checkpoints/step-{step:08}.safetensors").unlink()
    train(part, words, recipe, device="cpu", resume=True)
    same_weights(whole, part)
    plain = train(tmp_path / "plain", words, bpe(), device="cpu")
    with pytest.raises(AssertionError):
        same_weights(whole, plain)


@pytest.mark.parametrize("tokenizer", ["char", "unigram"])
def test_bpe_dropout_needs_merges(tmp_path, corpus, tokenizer):
    config = replace(SMALL.train, bpe_dropout=0.1)
    recipe = replace(SMALL, train=config, tokenizer=tokenizer, vocab_size=40)
    with pytest.raises(
        UserError, match=f"{tokenizer} subwords none are known"
    ):
        train(tmp_path / "x", corpus, recipe)
    assert not (tmp_path / "x").exists()


def test_a_training_may_start_from_a_model(tmp_path, words):
    """Its weights, sizes and subwords; and it resumes like any other."""
    first = train(tmp_path / "first", words, bpe(), device="cpu")
    recipe = replace(bpe(peak_rate=1e-9, steps=2), model=PRESETS["tiny"])
    options = {"start": first, "device": "cpu"}
    again = train(tmp_path / "again", words, recipe, **options)
    before, after = (
        read_tensors(folder / "model.safetensors")[0]
        for folder in (first, again)
    )
    for name in before:
        torch.testing.assert_close(before[name], after[name])
    third = train(tmp_path / "third", words, recipe, start=again, device="cpu")
    known, later = (
        json.loads((folder / "run.json").read_text())
        for folder in (again, third)
    )
    sums = json.loads((first / "config.json").read_text())["sha256"]
    assert known["start"].items() >= sums.items()
    assert known["start"]["result"]["updates"] == 6
    assert later["start"]["start"] == known["start"]
    assert known["recipe"]["model"]["d_model"] == 8
    assert known["recipe"]["model"]["dropout"] == PRESETS["tiny"].dropout
    train(again, words, recipe, resume=True, **options)
    with pytest.raises(UserError, match="no such folder"):
        train(tmp_path / "y", words, recipe, start=tmp_path / "nothing")


OTHER_WORDS = [
    ("the cat sat on the mat", "le chat était sur le tapis"),
    ("a dog ran over the hill", "un chien courait sur la colline"),
    ("two birds sang in the tree", "deux oiseaux chantaient dans l'arbre"),
]


EMBEDDINGS = {"source.tokens.weight", "target.tokens.weight", "output.weight"}


@pytest.mark.parametrize("tied", [True, False])
def test_a_child_inherits_the_vectors_of_subwords_it_shares(words, tied):
    known, own = (
        train_tokenizer([side for pair in pairs for side in pair], 70)
        for pairs in (words.train, OTHER_WORDS)
    )
    sizes = replace(SMALL.model, vocab_size=70, tied=tied)
    parent, child = transformer(sizes), transformer(sizes)
    drawn = {name: w.clone() for name, w in child.state_dict().items()}
    inherit(child, own, parent, known)
    given, found = parent.state_dict(), child.state_dict()
    shared = 0
    for name, weight in found.items():
        if name not in EMBEDDINGS:
            assert torch.equal(weight, given[name])
            continue
        for row in range(70):
            piece = own.pieces.id_to_piece(row)
            expected = drawn[name][row]
            for other in range(70):
                if known.pieces.id_to_piece(other) == piece:
                    expected = given[name][other]
                    shared += 1
            assert torch.equal(weight[row], expected)
    assert 3 * 4 < shared < 3 * 70  # of three tables, under one roof or not


def test_a_training_may_learn_subwords_for_another_language(tmp_path, words):
    first = train(tmp_path / "first", words, bpe(), device="cpu")
    french = replace(words, train=OTHER_WORDS * 20, target="fr")
    recipe = replace(bpe(), vocab_size=90)
    with pytest.raises(UserError, match="or add `start=MODEL`"):
        train(tmp_path / "x", french, recipe, new_subwords=True)
    options = {"start": first, "new_subwords": True, "device": "cpu"}
    whole = train(tmp_path / "whole", french, recipe, **options)
    part = train(tmp_path / "part", french, recipe, **options)
    for step in (4, 6):  # as if it had been killed after update 2
        (part / f"checkpoints/step-{step:08}.safetensors").unlink()
    train(part, french, recipe, resume=True, **options)
    same_weights(whole, part)
    assert len(read_tokenizer(whole)) == 90
    known = json.loads((whole / "run.json").read_text())
    assert known["recipe"]["vocab_size"] == 90
    assert known["recipe"]["model"]["d_model"] == 8
    assert known["start"]["result"]["updates"] == 6


def test_a_run_tells_the_size_of_its_vocabulary(corpus, tmp_path):
    folder = train(tmp_path / "model", corpus, SMALL)
    found = json.loads((folder / "run.json").read_text())["recipe"]
    shapes = read_tensors(folder / "model.safetensors")[0]
    rows = {len(x) for name, x in shapes.items() if name in EMBEDDINGS}
    assert {found["model"]["vocab_size"]} == rows
    # and goes on although the recipe that is asked for does not know it
    assert train(folder, corpus, SMALL, resume=True) == folder


@pytest.mark.parametrize("both", [0, 3])
def test_validation_text_that_is_learned_from_is_told(
    corpus, tmp_path, capsys, both
):
    mixed = replace(corpus, valid=corpus.valid + corpus.train[:both])
    train(tmp_path / "model", mixed, SMALL)
    told = f"{both} of {10 + both} validation pairs" in capsys.readouterr().err
    assert told == bool(both)


@pytest.mark.parametrize("rate", [1e-5, 0.3])
def test_what_became_the_model_is_told(corpus, tmp_path, capsys, rate):
    learning = replace(SMALL.train, schedule="linear", peak_rate=rate)
    folder = train(tmp_path / "model", corpus, replace(SMALL, train=learning))
    about = json.loads((folder / "config.json").read_text())["history"]
    told = capsys.readouterr().err.replace("\n", " ")
    if about["result"]["averaged"] == 1:
        assert "the last checkpoint, since the mean of the last 2" in told
    else:
        assert "6: the mean of the last 2 checkpoints;" in told
