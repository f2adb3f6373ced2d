"""Runs that are stopped, resumed, refused or out of time.

Kills, full disks and numbers that are not finite are in test_faults.py.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from sacrebleu.metrics import BLEU

from annotated_transformer import Translator, training
from annotated_transformer.corpora.corpus import Corpus, Extra
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import (
    PRESETS,
    ModelConfig,
    transformer,
)
from annotated_transformer.runs import loop, run
from annotated_transformer.runs.prepare import copy_parent_weights
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import train
from annotated_transformer.runs.run_dir import locked_run
from annotated_transformer.storage.checkpoints import (
    checkpoint_weights,
    read_metrics,
)
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
    assert steps == [8, 16, 24, 32, 40]


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
        assert contents(output) == before


@dataclass(frozen=True)
class Steps(TrainConfig):
    """A training whose rate falls in steps, as no schedule here does."""

    factor: float = 0.5

    def rate(self, step, d_model):
        return 0.01 * self.factor ** (step // 2)


def learning(recipe, **given):
    return replace(recipe, train=replace(recipe.train, **given))


OWN = replace(SMALL, train=Steps(**vars(SMALL.train)))
OTHERS = {  # what is asked for, and what is said of it
    "train.steps = 6, now it is 7": {"recipe": learning(OWN, steps=7)},
    "train.batch_tokens = 200, now it is 100": {
        "recipe": learning(OWN, batch_tokens=100)
    },
    "model.d_ff = 8, now it is 9": {
        "recipe": replace(OWN, model=replace(OWN.model, d_ff=9))
    },
    "train.schedule = .*.Steps, now it is inverse_sqrt": {"recipe": SMALL},
    "train.schedule = .*.Steps, now it is linear": {
        "recipe": learning(SMALL, schedule="linear")
    },
    "train.factor = 0.5, now it is 0.4": {"recipe": learning(OWN, factor=0.4)},
    "fast = True, now it is False": {"fast": False},
    "text.train = 1, now it is 3": {"checksums": {"train": "3", "valid": "2"}},
    "text.valid = 2, now it is None": {"checksums": {"train": "1"}},
    "target = xx, now it is fr": {"target": "fr"},
    "share.extra = None, now it is 0.5": {
        "extras": (Extra("more.tsv", 1, 0.5),)
    },
}


def test_resume_with_anything_else_names_the_field(tmp_path, corpus):
    """A schedule of one's own counts, too."""
    whole = train(tmp_path / "whole", corpus, OWN, device="cpu")
    part = tmp_path / "part"
    train(part, corpus, OWN, device="cpu", max_minutes=0.0)
    before = contents(part)
    for told, given in OTHERS.items():
        options = {name: given[name] for name in given if name == "fast"}
        recipe = given.get("recipe", OWN)
        rest = given.keys() - {"fast", "recipe"}
        text = replace(corpus, **{name: given[name] for name in rest})
        with pytest.raises(UserError, match=f"the run began with {told}; res"):
            train(part, text, recipe, device="cpu", resume=True, **options)
    assert contents(part) == before
    train(part, corpus, OWN, device="cpu", resume=True)
    same_weights(whole, part)
    for file in ("run.json", "config.json"):
        plain = json.loads((part / file).read_text())
        recipe = plain.get("history", plain)["recipe"]
        assert recipe["train"]["schedule"] == f"{__name__}.Steps"
        assert "inverse_sqrt" not in json.dumps(plain)


def test_resume_from_another_model_is_refused(tmp_path, corpus):
    """Before its first checkpoint a run would go on from that one."""
    for name, seed in (("one", 1), ("two", 2)):
        recipe = learning(SMALL, seed=seed)
        train(tmp_path / name, corpus, recipe, device="cpu")
    child = tmp_path / "child"
    train(child, corpus, SMALL, start=tmp_path / "one", device="cpu")
    for start in ({"start": tmp_path / "two"}, {}):
        with pytest.raises(UserError, match="began with start = "):
            train(child, corpus, SMALL, resume=True, **start)
    train(child, corpus, SMALL, start=tmp_path / "one", resume=True)
    (tmp_path / "two" / "tokenizer.model").write_bytes(
        (train(tmp_path / "x", corpus, bpe()) / "tokenizer.model").read_bytes()
    )
    with pytest.raises(UserError, match="began with tokenizer.model = "):
        train(tmp_path / "two", corpus, learning(SMALL, seed=2), resume=True)


@pytest.mark.parametrize("text", ["{", "[]", '{"recipe": {}}'])
def test_resume_of_a_damaged_run_is_refused(tmp_path, corpus, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match="not the beginning of a run"):
        train(tmp_path, corpus, SMALL, resume=True)


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
    assert [x.name for x in output.glob(".*")] == [".lock"]


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
        ".metrics.jsonl.part",
        "checkpoints/.step-00000006.safetensors.part",
        ".config.json.part",
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
    assert [x.name for x in output.rglob(".*")] == [".lock"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_two_trainings_do_not_share_a_folder(tmp_path, corpus):
    output = tmp_path / "model"
    train(output, corpus, SMALL, device="cpu")
    with (
        locked_run(output),
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
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "checkpoints/step-00000002.safetensors").touch()
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


@pytest.mark.parametrize("updates", [1, 3])  # a checkpoint comes after 2
def test_out_of_memory_names_the_settings(
    tmp_path, corpus, undisturbed, monkeypatch, updates
):
    """Before its first checkpoint a run has nothing to lose."""
    plain, seen = training.batch_loss, []

    def loss(model, batch, config):
        seen.append(batch)
        if len(seen) > updates:
            raise MemoryError
        return plain(model, batch, config)

    output = tmp_path / "x"
    told = f"after update {updates}: in a new run lower `batch_tokens`, and"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "batch_loss", loss)
        with pytest.raises(UserError, match=told):
            train(output, corpus, SMALL, device="cpu")
    train(output, corpus, SMALL, device="cpu", resume=updates > 2)
    same_weights(output, undisturbed)


def test_a_long_extra_pair_is_named_by_its_own_line(tmp_path, corpus, capsys):
    extra = [("a", "b"), ("a", "b"), ("a" * 30, "b")]
    extras = (Extra("first.tsv", 1), Extra("next.tsv", len(extra) - 1, 0.1))
    corpus = replace(corpus, train=corpus.train + extra, extras=extras)
    config = replace(SMALL.train, max_length=20)
    train(tmp_path / "x", corpus, replace(SMALL, train=config), device="cpu")
    told = capsys.readouterr().err
    assert "next.tsv: 1 of 2 pairs" in told and "the first in line 2 (" in told


def test_more_checkpoints_than_a_header_can_list_are_refused(tmp_path, corpus):
    with pytest.raises(UserError, match="at most 10,000 checkpoints"):
        train(tmp_path / "x", corpus, learning(SMALL, steps=20_001))
    assert not (tmp_path / "x").exists()


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


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    return train(folder, corpus, SMALL, device="cpu")


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
    copy_parent_weights(child, own, parent, known)
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
    assert len(read_tokenizer(whole / "tokenizer.model")) == 90
    known = json.loads((whole / "run.json").read_text())
    assert known["recipe"]["vocab_size"] == 90
    assert known["recipe"]["model"]["d_model"] == 8
    assert known["start"]["result"]["updates"] == 6


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
