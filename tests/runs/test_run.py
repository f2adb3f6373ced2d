"""Runs that are stopped, resumed, refused or begun with a model.

Kills, full disks and numbers that are not finite are in test_faults.py.
"""

import errno
import fcntl
import json
import os
import shutil
import sys
import threading
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from histories import HISTORY, RECIPE
from sacrebleu.metrics import BLEU
from small_runs import CORPUS, MUON, SMALL, learning, same_weights
from test_resume import KINDS
from tiny_models import tiny_folder
from without_blanks import SENTENCES

from annotated_transformer import Translator, training
from annotated_transformer.corpora.corpus import Corpus, Extra
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.model import PRESETS, transformer
from annotated_transformer.runs import description, objectives
from annotated_transformer.runs.description import describe
from annotated_transformer.runs.prepare import Prepared, build_model
from annotated_transformer.runs.recipes import fine_tuning
from annotated_transformer.runs.run import Run
from annotated_transformer.runs.run_dir import locked_run
from annotated_transformer.runs.start import Parent, Start, copy_parent_weights
from annotated_transformer.runs.train import encode_corpus, train
from annotated_transformer.storage.checkpoints import (
    checkpoint_weights,
    read_metrics,
)
from annotated_transformer.storage.history import Origin, SourceLines
from annotated_transformer.storage.model_folder import (
    load_model,
    save_model,
)
from annotated_transformer.storage.weight_files import (
    read_tensors,
    set_weights,
)
from annotated_transformer.system.console import console
from annotated_transformer.system.machine import this_machine, versions
from annotated_transformer.training import batch_loss


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_a_model_is_drawn_from_its_own_seed_alone(positions):
    """And from the numbers that PyTorch would draw after that seed."""
    sizes = replace(SMALL.model, vocab_size=50, positions=positions)
    recipe = learning(replace(SMALL, model=sizes), seed=4)
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        found.append(build_model(recipe, "cpu").state_dict())
        assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(4)
    found.append(transformer(sizes).state_dict())
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=0, atol=0)


def contents(folder):
    """The bytes of every file under a folder, by name."""
    return {x: x.read_bytes() for x in folder.rglob("*") if x.is_file()}


def test_a_finished_run_without_its_checkpoints_is_not_begun_again(
    undisturbed, tmp_path
):
    output = shutil.copytree(undisturbed, tmp_path / "model")
    shutil.rmtree(output / "checkpoints")
    for lost in ("config.json", ""):
        before = contents(output)
        with pytest.raises(UserError, match="checkpoints of this run .step-"):
            train(output, CORPUS, SMALL, device="cpu", resume=True)
        assert contents(output) == before
        if lost:
            (output / lost).unlink()


OWN, _ = KINDS["own rate"]  # with a schedule of its own
OTHERS = {  # what is asked for, and what is said of it
    "recipe.train.steps = 6, now it is 7": {"recipe": learning(OWN, steps=7)},
    "recipe.model.d_ff = 8, now it is 9": {
        "recipe": replace(OWN, model=replace(OWN.model, d_ff=9))
    },
    "recipe.train.schedule = .*.Steps, now it is inverse_sqrt": {
        "recipe": SMALL
    },
    "recipe.train.factor = 0.5, now": {"recipe": learning(OWN, factor=0.4)},
    "data.sha256.train = 1, now it is 3": {
        "checksums": {"train": "3", "valid": "2"}
    },
    "data.pairs = 50, now it is 49": {"extras": (Extra("more.tsv", 1, 0.5),)},
    "start.files.model.* = None, now it is": {
        "start": Start("multi30k-en-de")
    },
}


def test_resume_with_anything_else_names_the_field(tmp_path):
    part = tmp_path / "part"
    train(part, CORPUS, OWN, device="cpu", max_minutes=0.0)
    before = contents(part)
    for told, given in OTHERS.items():
        rest = {"recipe": OWN, "device": "cpu", **given}
        of_text = {x: rest.pop(x) for x in vars(CORPUS) if x in rest}
        text = replace(CORPUS, **of_text)
        with pytest.raises(UserError, match=f"the run began with {told}.*; r"):
            train(part, text, resume=True, **rest)
    assert contents(part) == before
    subwords = part / "tokenizer.model"
    subwords.write_bytes(train_tokenizer(["abc"], 8, "char").model)
    with pytest.raises(UserError, match="began with tokenizer_sha256 = "):
        train(part, CORPUS, OWN, device="cpu", resume=True)
    subwords.write_bytes(before[subwords])
    train(part, CORPUS, OWN, device="cpu", resume=True)
    for file in ("run.json", "config.json"):
        plain = json.loads((part / file).read_text())
        recipe = plain.get("history", plain)["recipe"]
        assert recipe["train"]["schedule"] == "test_resume.Steps"
        assert "inverse_sqrt" not in json.dumps(plain)


def test_a_text_that_is_counted_otherwise_is_the_same_text(
    tmp_path, monkeypatch
):
    """What is said of its lines follows from the code, which may change."""
    part = tmp_path / "part"
    train(part, CORPUS, SMALL, device="cpu", max_minutes=0.0)
    began = json.loads((part / "run.json").read_text())["data"]["lines"]
    monkeypatch.setattr(description, "usual_words", lambda _: ["others"])
    train(part, CORPUS, SMALL, device="cpu", resume=True)
    made = json.loads((part / "config.json").read_text())["history"]
    assert made["data"]["lines"] == began and made["result"]["updates"] == 6


def test_a_run_from_before_its_recipe_had_a_field(tmp_path, undisturbed):
    """Goes on as it began, with what is now the default; and only so."""
    part = tmp_path / "part"
    train(part, CORPUS, SMALL, device="cpu", max_minutes=0.0)
    file = part / "run.json"
    plain = json.loads(file.read_text())
    for name in ("optimizer", "weight_decay", "decay"):
        del plain["recipe"]["train"][name]
    del plain["recipe"]["tf32"], plain["recipe"]["model"]["norm"]
    file.write_text(json.dumps(plain))
    with pytest.raises(UserError, match="train.optimizer = adam, now .* muon"):
        train(part, CORPUS, MUON, device="cpu", resume=True)
    train(part, CORPUS, SMALL, device="cpu", resume=True)
    assert same_weights(part, undisturbed)
    load_model(part)


def test_a_run_that_goes_on_elsewhere_says_so(
    tmp_path, undisturbed, capsys, monkeypatch
):
    """And an equal machine says nothing, in a folder of an older version too.

    The card has what a run was begun with and all that it was resumed with.
    """
    part, here = tmp_path / "part", this_machine()
    file, options = part / "run.json", {"device": "cpu", "max_minutes": 0.0}
    train(part, CORPUS, SMALL, **options)
    plain = json.loads(file.read_text())
    assert plain.pop("resumed") == []  # older ones have no such field
    file.write_text(json.dumps(plain))

    def go_on():
        """What is said of machines, and what the card then says."""
        capsys.readouterr()
        train(part, CORPUS, SMALL, resume=True, **options)
        said = capsys.readouterr().err.splitlines()
        rows = (part / "README.md").read_text().splitlines()
        return (
            [line for line in said if "begun with" in line],
            [row for row in rows if row.startswith("| resumed")],
        )

    assert go_on() == ([], [])
    plain["versions"]["torch"], plain["machine"]["threads"] = "1.2.3", 99
    file.write_text(json.dumps(plain))
    before = "torch 1.2.3, threads 99"
    after = f"torch {versions()['torch']}, threads {here.threads}"
    said = (
        f"{part}: this run was begun with {before}; it goes on with {after}, "
        "so it may end with other numbers"
    )
    row = f"| resumed | with {after} in place of {before} |"
    assert go_on() == go_on() == ([said], [row])
    there = replace(here, processor="abacus")
    with monkeypatch.context() as patch:
        patch.setattr(description, "this_machine", lambda _: there)
        (said,), rows = go_on()
    assert "processor abacus" in said
    assert rows[0] == row and "processor abacus" in rows[1] and len(rows) == 2
    assert load_model(part)[2].resumed[1].machine == there
    train(part, CORPUS, SMALL, device="cpu", resume=True)
    assert same_weights(part, undisturbed)  # it was the same machine


def test_of_one_checkpoint_there_is_no_mean(tmp_path, capsys):
    recipe = learning(SMALL, average=1)
    train(tmp_path / "run", CORPUS, recipe)
    told = " ".join(capsys.readouterr().err.split())
    assert "6 of 6: the last checkpoint; validation" in told


def test_the_model_is_the_mean_of_the_last_or_the_last(tmp_path, capsys):
    """A rate that is too high ends well only on average."""
    found = set()
    for rate, warmup in ((0.02, 2), (1.0, 6)):
        recipe = learning(
            SMALL, schedule="linear", peak_lr=rate, warmup=warmup
        )
        output = train(tmp_path / str(rate), CORPUS, recipe)
        config = json.loads((output / "config.json").read_text())
        result, last = config["history"]["result"], read_metrics(output)[-1]
        count = result["averaged"]
        told = " ".join(capsys.readouterr().err.split())
        if count == 1:
            assert "the last checkpoint, since the mean of the last 2" in told
            assert result["valid_perplexity"] == last["valid_perplexity"]
        else:
            assert "6: the mean of the last 2 checkpoints;" in told
            assert result["valid_perplexity"] <= last["valid_perplexity"]
        paths = sorted((output / "checkpoints").iterdir())[-count:]
        states = [checkpoint_weights(path) for path in paths]
        model, _ = read_tensors(output / "model.safetensors")
        for name, tensor in model.items():
            mean = sum(state[name] for state in states) / count
            torch.testing.assert_close(tensor, mean)
        found.add(count)
    assert found == {1, 2}


def test_validation_sentences_are_translated(
    command, recipe_options, trained, tmp_path
):
    output = tmp_path / "model"
    asked = [*recipe_options, "--valid-bleu", "7"]
    result = command("train", output, *asked)
    assert result.status == 0, result.err
    assert same_weights(output, trained)  # to look at it changes nothing
    lines = read_metrics(output)
    assert f"BLEU {lines[-1]['valid_bleu']:.2f}, " in result.err
    translator = Translator.load(output)
    last = output / "checkpoints" / "step-00000040.safetensors"
    set_weights(translator.model, checkpoint_weights(last), last)
    sources, references = zip(*copy_task(440)[400:407], strict=True)
    outputs = [translator(source, beam=1) for source in sources]
    bleu = BLEU().corpus_score(outputs, [references]).score
    assert lines[-1]["valid_bleu"] == round(bleu, 2)


def test_sentences_that_are_left_out_are_not_translated(tmp_path):
    pairs = [("a" * 40, "a"), ("ab", "ba"), ("a", "a" * 40), ("c", "c")]
    tokenizer = train_tokenizer(map("".join, pairs), 40, "char")
    recipe = replace(SMALL, train=replace(SMALL.train, max_length=20))
    model = transformer(replace(recipe.model, vocab_size=len(tokenizer)))
    few = replace(CORPUS, train=pairs[1:2], valid=pairs)
    for asked, found in ((0, []), (1, pairs[1:2]), (10**30, pairs[1::2])):
        parts = encode_corpus(few, tokenizer, recipe), recipe, tokenizer, model
        one = Run(tmp_path, *parts, valid_bleu=asked)
        assert one.to_translate == found


def test_what_is_right_has_a_bleu_of_100_without_blanks(tmp_path):
    pairs = [*zip("abc", SENTENCES["zh"], strict=True)]
    corpus = Corpus(pairs, pairs, {}, "x", "en", "zh", {})
    tokenizer = train_tokenizer(map("".join, pairs), 60, "char")
    torch.manual_seed(0)
    model = transformer(replace(SMALL.model, vocab_size=len(tokenizer)))
    texts = encode_corpus(corpus, tokenizer, SMALL)
    run = Run(tmp_path, texts, SMALL, tokenizer, model, valid_bleu=3)
    sources = [source for source, _ in run.to_translate]
    outputs = Translator(model, tokenizer)(sources, beam=1)
    assert run.bleu() < 50
    run.to_translate = [*zip(sources, outputs, strict=True)]
    assert run.bleu() == pytest.approx(100)


def test_a_language_that_is_not_known_is_told_where_bleu_counts(
    tmp_path, capsys
):
    line = "".join(SENTENCES["zh"])
    pairs = [("a", line)]
    recipe = learning(SMALL, steps=1, average=1)
    for language, valid_bleu, told in (
        ("xx", 1, True),
        ("xx", 0, False),
        ("ZH-tw", 1, False),
    ):
        corpus = Corpus.from_pairs(pairs, pairs, target=language)
        output = tmp_path / f"{language} {valid_bleu}"
        train(output, corpus, recipe, device="cpu", valid_bleu=valid_bleu)
        found = capsys.readouterr().err
        assert ("warning: validation text: its lines have" in found) == told
        train(
            output,
            corpus,
            recipe,
            device="cpu",
            resume=True,
            valid_bleu=valid_bleu,
        )
        assert ("the language 'xx'" in capsys.readouterr().err) == told


def test_each_line_of_metrics_is_reported_once(tmp_path):
    """When it is in a checkpoint, so that a resumed run has the others."""
    lines = []

    def first(line):
        lines.append(dict(line))
        line.clear()  # which is a copy
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        train(tmp_path, CORPUS, SMALL, on_metrics=first)
    train(tmp_path, CORPUS, SMALL, resume=True, on_metrics=lines.append)
    assert lines == read_metrics(tmp_path)
    assert [line["step"] for line in lines] == [2, 4, 6]


def test_two_trainings_do_not_share_a_folder(tmp_path):
    output = tmp_path / "model"
    with locked_run(output, resume=False):
        with pytest.raises(UserError, match="another run is training here"):
            train(output, CORPUS, SMALL, device="cpu")
        assert [x.name for x in output.iterdir()] == [".lock"]
    train(output, CORPUS, SMALL, device="cpu")


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.ENOSYS])
def test_without_locks_a_training_says_so_and_goes_on(
    tmp_path, undisturbed, monkeypatch, capsys, error
):
    """Whatever the file system says of them."""

    def flock(file, operation):
        raise OSError(error, "no locks")

    monkeypatch.setattr(fcntl, "flock", flock)
    output = train(tmp_path / "model", CORPUS, SMALL, device="cpu")
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("model: this file system has no locks; start no") == 1
    assert same_weights(output, undisturbed)


CUDA = torch.OutOfMemoryError(
    "CUDA out of memory. Tried to allocate 7.45 GiB. Process 7 has 74.0 GiB "
    "memory in use. Of the allocated memory 70.1 GiB is allocated by PyTorch, "
    "and 3.2 GiB is reserved by PyTorch but unallocated."
)


@pytest.mark.parametrize(
    ("error", "updates", "told"),  # a checkpoint comes after update 2
    [
        (MemoryError(), 1, "after update 1: in a new run lower `batch_tokens"),
        (CUDA, 3, r"after update 3 \(CUDA .* in use.\): .*, lower `max_len"),
    ],
)
def test_out_of_memory_names_the_settings(
    tmp_path, undisturbed, monkeypatch, error, updates, told
):
    """Before its first checkpoint a run has nothing to lose."""
    plain, seen = training.batch_loss, []

    def loss(model, batch, config):
        seen.append(batch)
        if len(seen) > updates:
            raise error
        return plain(model, batch, config)

    output = tmp_path / "x"
    with monkeypatch.context() as patch:
        patch.setattr(objectives, "batch_loss", loss)
        with pytest.raises(UserError, match=told):
            train(output, CORPUS, SMALL, device="cpu")
    train(output, CORPUS, SMALL, device="cpu", resume=updates > 2)
    assert same_weights(output, undisturbed)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (torch.OutOfMemoryError(), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when"), True),
        (RuntimeError("[enforce fail] can't allocate memory: you"), True),
        (RuntimeError("unable to mmap 9 bytes: Cannot allocate memory"), True),
        (RuntimeError("shapes do not match"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_which_errors_want_memory(error, expected):
    assert out_of_memory(error) == expected


def test_what_is_unwise_is_told(tmp_path, capsys):
    short = learning(SMALL, steps=3, warmup=9)
    mixed = replace(CORPUS, valid=CORPUS.valid + CORPUS.train[:3])
    train(tmp_path / "model", mixed, short, device="cpu")
    told = " ".join(capsys.readouterr().err.split())
    assert "rises until update 9, but the training ends at 3: shorten" in told
    assert "3 of 13 validation pairs" in told
    train(tmp_path / "wise", CORPUS, SMALL, device="cpu")
    told = capsys.readouterr().err
    assert "rises until" not in told and "validation pairs" not in told


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    return train(folder, CORPUS, SMALL, device="cpu")


def test_a_training_computes_in_float32(tmp_path, undisturbed):
    torch.set_default_dtype(torch.float64)
    try:
        train(tmp_path / "model", CORPUS, SMALL, device="cpu")
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert same_weights(tmp_path / "model", undisturbed)


def test_compiling_without_a_compiler_is_refused(tmp_path, monkeypatch):
    def broken(function, **options):
        raise RuntimeError("no compiler\nof C++ is here\nand much more")

    monkeypatch.setattr(torch, "compile", broken)
    told = r"does not work here \(no compiler of C\+\+ is here\); install"
    with pytest.raises(UserError, match=told):
        train(tmp_path / "model", CORPUS, SMALL, compiled=True)


def test_a_run_in_another_thread_has_no_signals(tmp_path):
    done = []
    thread = threading.Thread(
        target=lambda: done.append(train(tmp_path / "m", CORPUS, SMALL))
    )
    thread.start()
    thread.join()
    assert done == [tmp_path / "m"]


def test_progress_is_a_bar_on_a_terminal(tmp_path):
    pty = pytest.importorskip("pty")
    main, side = pty.openpty()
    with os.fdopen(side, "w") as terminal, pytest.MonkeyPatch.context() as m:
        m.setattr(console, "_file", terminal)
        train(tmp_path / "model", CORPUS, SMALL, device="cpu")
        terminal.flush()
        shown = os.read(main, 1 << 16).decode()
    os.close(main)
    assert "100%" in shown and "update 6 of 6" in shown


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="not Linux")
@pytest.mark.parametrize("left", [True, False])
def test_a_training_outlives_its_standard_error(
    tmp_path, undisturbed, left, monkeypatch
):
    """Whose disk is full, or whose reader has left."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing if left else "/dev/full", "w", 1) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        train(tmp_path / "model", CORPUS, SMALL, device="cpu")
        with suppress(OSError):
            stream.close()
    assert same_weights(tmp_path / "model", undisturbed)


@pytest.fixture(scope="module")
def words():
    text = builtin_corpus(train=300)
    sums = {"train": "1", "valid": "2"}
    return replace(text, valid=text.valid[:20], checksums=sums)


def bpe(**train):
    config = replace(SMALL.train, **train)
    return replace(SMALL, train=config, tokenizer="bpe", vocab_size=300)


def test_a_training_may_start_from_a_model(tmp_path, words):
    """Its weights, sizes and subwords; and it resumes like any other."""
    first = train(tmp_path / "first", words, bpe(), device="cpu")
    recipe = replace(bpe(peak_lr=1e-9, steps=2), model=PRESETS["tiny"])
    options = {"start": Start(first), "device": "cpu"}
    again = train(tmp_path / "again", words, recipe, **options)
    before, after = (
        read_tensors(folder / "model.safetensors")[0]
        for folder in (first, again)
    )
    for name in before:
        torch.testing.assert_close(before[name], after[name])
    third = train(tmp_path / "third", words, recipe, again)
    known, later = (
        json.loads((folder / "run.json").read_text())
        for folder in (again, third)
    )
    sums = json.loads((first / "config.json").read_text())["sha256"]
    assert known["start"]["files"] == sums
    assert known["start"]["result"]["updates"] == 6
    assert later["start"]["start"] == known["start"]
    assert known["recipe"]["model"]["d_model"] == 8
    assert known["recipe"]["model"]["dropout"] == PRESETS["tiny"].dropout
    train(again, words, recipe, resume=True, **options)
    with pytest.raises(UserError, match="no such folder"):
        train(tmp_path / "y", words, recipe, Start(tmp_path / "nothing"))


def test_a_fine_tuning_ends_with_its_best_checkpoint(tmp_path, words):
    """That may be its beginning; by a risk or noise no loss need fall."""
    first = train(tmp_path / "first", words, bpe(steps=40), device="cpu")
    options = {"start": Start(first), "device": "cpu"}
    best = {}
    for rate in (1e-3, 10.0):
        recipe = bpe(steps=12, average=1, schedule="linear", peak_lr=rate)
        child = train(tmp_path / str(rate), words, recipe, **options)
        lines = read_metrics(child)
        assert "loss" not in lines[0] and "loss" in lines[1]
        best[rate] = min(lines, key=lambda line: line["valid_loss"])
        config = json.loads((child / "config.json").read_text())
        found = config["history"]["result"]["valid_perplexity"]
        assert found <= best[rate]["valid_perplexity"]
        kept = {path.stem for path in (child / "checkpoints").iterdir()}
        steps = {best[rate]["step"], 10, 12}
        assert kept == {f"step-{step:08}" for step in steps}
    assert best[1e-3]["step"] > best[10.0]["step"] == 0
    assert same_weights(child, first)
    for lab in ({"risk": 2}, {"noise": 1.0}):
        other = learning(recipe, steps=2, **lab)
        child = train(tmp_path / str(lab), words, other, **options)
        assert not same_weights(child, first)


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
    copy_parent_weights(child, own, Parent(parent, known, Origin("")))
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


def test_a_run_reads_noise_and_cuts_candidates_as_its_translator(
    tmp_path, monkeypatch
):
    """By the words of its text and of its parent's, and by their lengths."""
    model, tokenizer, _ = load_model(tiny_folder(tmp_path))
    lines = SourceLines(0.5, 99, 1.5, "Dog NASA", 3.5)
    history = replace(HISTORY, data=replace(HISTORY.data, lines=lines))
    save_model(tmp_path / "parent", model, tokenizer, history)
    made = []
    for name, function in (
        ("train.encode_corpus", encode_corpus),
        ("run.objective_of", lambda *_: batch_loss),
    ):
        monkeypatch.setattr(
            f"annotated_transformer.runs.{name}",
            lambda *given, function=function: (
                made.append(given) or function(*given)
            ),
        )
    recipe = fine_tuning(learning(RECIPE, noise=1.0))
    pairs = [("a dog", "ein Hund")] * 9
    corpus = Corpus.from_pairs(pairs, pairs)
    folder = train(
        tmp_path / "run", corpus, recipe, tmp_path / "parent", max_minutes=0.0
    )
    known = Translator.load(folder).known
    (*_, words), (*_, stretch) = made
    assert words == known.words and {"nasa", "dog"} <= {*words}
    assert stretch == known.stretch == 3.5


def test_a_training_keeps_what_its_source_lines_are_like(tmp_path):
    """The longest may be that of the training that it began with."""
    model, tokenizer, _ = load_model(tiny_folder(tmp_path))
    before = SourceLines(0.5, 99, 50.0, "Dog NASA", 3.5)
    data = replace(HISTORY.data, lines=before)
    begun = Parent(model, tokenizer, Origin("train zero", data))
    pairs = [("a small dog", "ein Hund"), ("a dog. a dog.", "Hund")] * 3
    corpus = Corpus.from_pairs([*pairs, ("a " * 300, "x")], pairs)
    for parent, longest, words in (
        (None, 13, "a dog small"),
        (begun, 99, "a dog small NASA"),
    ):
        ready = Prepared(RECIPE, tokenizer, parent)
        known = describe("", ready, corpus, "cpu")
        lines = known.data.lines
        assert lines.single == round(4 / 7, 4)
        assert lines.longest == longest and known.data.split == ""
        assert lines.words == words and known.data.target == "de"
        assert (known.start.data.lines.words if parent else "") == ""
        assert lines.stretch == (3.5 if parent else 1.27)
        assert (lines.subwords == 50) == (parent is not None)
