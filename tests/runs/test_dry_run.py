"""A dry run, against the batches and the model of a real one."""

import re
import shlex
from dataclasses import replace
from itertools import islice

import pytest
from rich.filesize import decimal
from small_runs import learning
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.adapting import add_adapters
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import (
    ORDERS,
    Examples,
    bucket,
    copy_task,
    encode_pairs,
    training_batches,
)
from annotated_transformer.embedding import PAD
from annotated_transformer.model import (
    PRESETS,
    parameter_count,
    transformer,
)
from annotated_transformer.optimizer import layer_matrices
from annotated_transformer.runs import dry_run
from annotated_transformer.runs.cost import Cost
from annotated_transformer.runs.dry_run import plan
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import fine_tuning, recipe_of
from annotated_transformer.runs.start import Start
from annotated_transformer.storage.builders import outline
from annotated_transformer.storage.model_folder import load_model, read_config


@pytest.fixture(scope="module")
def corpus():
    copies = enumerate(copy_task(700, lengths=(3, 30)))
    pairs = [(one, two[:: 1 + i % 2]) for i, (one, two) in copies]
    return Corpus(pairs[50:], pairs[:50], {}, "copy", "x", "x", {})


@pytest.fixture(scope="module")
def recipe():
    base = recipe_of(None, "base")
    few = replace(base.train, batch_tokens=500, accumulation_steps=3, seed=4)
    return replace(
        base,
        model=PRESETS["tiny"],
        train=few,
        vocab_size=15,
        tokenizer="char",
        processes=2,
    )


def table(text):
    rows = text.partition("\n\n")[0].splitlines()
    return dict(re.split(r" {2,}", line) for line in rows)


def numbers(text):
    return [float(x.replace(",", "")) for x in re.findall(r"\d[\d.,]*", text)]


@pytest.mark.parametrize("order", ORDERS)
def test_the_plan_is_what_the_run_does(corpus, recipe, order):
    recipe = learning(recipe, order=order)
    rows = table(plan(recipe, corpus))
    tokenizer = learn_tokenizer(corpus, recipe)
    examples, _ = encode_pairs(corpus.train, tokenizer, 256)
    text = Examples.of(examples)
    epoch, after = (
        [*map(text.batch, bucket(text.lengths, 500, f"4 {number}", order))]
        for number in (0, 1)
    )
    targets = sum(batch.tokens for batch in epoch)
    sources = sum((batch.source != PAD).sum().item() for batch in epoch)
    assert numbers(rows["pairs an epoch"]) == [650]
    updates = len(epoch) / 6
    assert numbers(rows["updates an epoch"])[0] == pytest.approx(
        updates, abs=0.05
    )
    assert numbers(rows["epochs"])[0] == pytest.approx(
        100_000 / updates, abs=0.05
    )
    told = numbers(rows["tokens an update"])
    assert told == pytest.approx([sources / updates, targets / updates], abs=1)
    # what six batches of another epoch have, on average
    group = [batch.tokens for batch in after]
    assert told[1] == pytest.approx(6 * sum(group) / len(group), rel=0.05)


def test_memory_is_counted_from_the_parameters(corpus, recipe):
    rows = table(plan(recipe, corpus))
    count = parameter_count(replace(recipe.model, vocab_size=15))
    assert numbers(rows["parameters"]) == [count]
    # processes exchange gradients in place
    for name, times in [
        ("weights, gradients, moments", 4),
        ("a checkpoint", 3),
    ]:
        assert rows[name] == decimal(times * 4 * count)
    inner = sum(x.numel() for x in layer_matrices(outline(recipe.model)))
    muon = table(plan(learning(recipe, optimizer="muon"), corpus))
    kept = 4 * (4 * count - inner)
    assert muon["weights, gradients, moments"] == decimal(kept)
    assert muon["a checkpoint"] == decimal(4 * (3 * count - inner))


def test_adapters_alone_have_gradients_and_moments(corpus, recipe):
    start = Start("multi30k-en-de")
    rows = table(plan(fine_tuning(recipe, 4), corpus, start))
    model = load_model("multi30k-en-de")[0]
    count = sum(x.numel() for x in model.parameters())
    add_adapters(model, 4)
    own = sum(x.numel() for x in model.parameters() if x.requires_grad)
    assert numbers(rows["parameters"]) == [count + own]
    kept = decimal(4 * (count + own + 3 * own))
    assert rows["weights, gradients, moments"] == kept


@pytest.mark.parametrize(
    ("given", "passes"), [({}, 1), ({"r_drop": 5.0}, 2), ({"risk": 4}, 4)]
)
def test_memory_is_that_of_all_passes(
    corpus, recipe, monkeypatch, given, passes
):
    """The logits' gradient comes on top of what is kept for a token."""
    monkeypatch.setattr(dry_run, "measured_cost", lambda *_: Cost(0, 0, 1e4))
    changed = learning(recipe, **given)
    start = Start("multi30k-en-de", True) if "risk" in given else Start()
    rows = table(plan(changed, corpus, start))
    batch = int(500 * (1e4 + passes * 4 * 15))
    assert rows["activations of a batch"] == f"about {decimal(batch)}"


def test_operations_are_those_of_an_update(corpus, recipe):
    """Counted by PyTorch, which counts attention as well: a little more."""
    sizes = replace(recipe.model, vocab_size=15, dropout=0.0)
    tokenizer = learn_tokenizer(corpus, recipe)
    examples, _ = encode_pairs(corpus.train, tokenizer, 256)
    batches = [*islice(training_batches(examples, 500, 4), 30)]
    model, counted = transformer(sizes), FlopCounterMode(display=False)
    with counted, sdpa_kernel(SDPBackend.MATH):
        for batch in batches:
            model(batch.source, batch.inputs).sum().backward()
    expected = counted.get_total_flops() / len(batches) * 6 * 100_000
    rows = table(plan(recipe, corpus))
    assert 0.85 < float(rows["operations"].split()[1]) / expected < 1


def test_a_start_brings_its_sizes_and_its_subwords(corpus, recipe):
    first, tokenizer, _ = load_model("multi30k-en-de")
    count = sum(parameter.numel() for parameter in first.parameters())
    rows = table(plan(recipe, corpus, Start("multi30k-en-de")))
    assert numbers(rows["parameters"]) == [count]
    assert numbers(rows["subwords"]) == [len(tokenizer)]
    start = Start("multi30k-en-de", new_subwords=True)
    rows = table(plan(recipe, corpus, start))
    sizes = replace(first.config, vocab_size=15)
    assert numbers(rows["parameters"]) == [parameter_count(sizes)]
    assert numbers(rows["subwords"]) == [15]


def test_a_dry_run_prints_and_writes_nothing(
    command, recipe_options, tmp_path, monkeypatch
):
    words = ("train", tmp_path / "model", *recipe_options, "--dry-run")
    ended = command(*words, "--accumulate=2")
    assert ended.status == 0, ended.err
    alone = numbers(table(ended.out)["updates an epoch"])[0]
    # as torchrun would say
    monkeypatch.setenv("WORLD_SIZE", "8")
    ended = command(*words, "--accumulate=2")
    assert "torchrun --nproc-per-node=8 -m annotated_transformer" in ended.out
    together = numbers(table(ended.out)["updates an epoch"])[0]
    assert together == pytest.approx(alone / 8, abs=0.05)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")  # on four machines
    ended = command(*words, "--accumulate=2")
    assert "torchrun --nnodes=4 --nproc-per-node=2 -m" in ended.out
    assert not any(tmp_path.iterdir())


def test_a_dry_run_ends_with_the_command_that_trains(
    command, recipe_options, tmp_path
):
    """Whatever shells make of its words."""
    folder = tmp_path / "a model's"
    words = ["train", folder, *recipe_options, "--max-steps=2"]
    words += ["--checkpoint-every=2", "--average=1"]
    planned = command(*words, "--dry-run").out.splitlines()
    *typed, last = planned[-2:]
    assert typed == ["To train it:"]
    program, *copied = shlex.split(last)
    assert program == "annotated-transformer"
    assert copied == [*map(str, words)]
    assert command(*copied).status == 0
    assert read_config(folder).history.command == last


def test_a_vocabulary_that_nobody_asked_for_shrinks_to_the_text(
    command, tmp_path
):
    (tmp_path / "pairs").write_text("A dog.\tEin Hund.\nA cat.\tNo cat.\n" * 9)
    files = [
        f"--pairs={tmp_path / 'pairs'}",
        f"--valid-pairs={tmp_path}/pairs",
    ]
    words = ["train", tmp_path / "model", *files]
    asked = command(*words, "--vocab-size=8000", "--dry-run")
    largest = re.search(r"the largest possible is (\d+)", asked.err)[1]
    assert asked.status == 1
    ended = command(*words, "--dry-run")
    assert numbers(table(ended.out)["subwords"]) == [int(largest)]
    assert f"yields {largest} subwords" in ended.err
    assert "fewer by --vocab-size" in " ".join(ended.err.split())
    ended = command(*words, "--max-steps=2", "--warmup=1")
    assert ended.status == 0
    assert len(load_model(tmp_path / "model")[1]) == int(largest)
