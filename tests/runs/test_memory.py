"""What a training needs in memory: counted, measured, and tried at once."""

from dataclasses import replace
from itertools import islice

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.data import copy_task, make_batch, train_tokenizer
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.model import (
    EncoderDecoder,
    ModelConfig,
    transformer,
)
from annotated_transformer.optimizer import adam
from annotated_transformer.runs import loop
from annotated_transformer.runs.memory import (
    Unsearched,
    largest_batch,
    loss_bytes,
    try_batch,
)
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.runs.run import train
from annotated_transformer.storage.checkpoints import read_metrics
from annotated_transformer.storage.model_folder import read_tokenizer
from annotated_transformer.storage.weight_files import read_tensors
from annotated_transformer.training import TrainConfig, batch_loss

SMALL = Recipe(
    ModelConfig(layers=1, d_model=8, d_ff=8, heads=2, pre_norm=True),
    TrainConfig(
        steps=6, batch_tokens=200, warmup=2, checkpoint_every=2, average=2
    ),
    tokenizer="char",
)
TOKENS, VOCAB = 512, 3000
LETTERS = train_tokenizer(["abc"], 8, "char")


@pytest.fixture(scope="module")
def corpus():
    pairs = copy_task(60)
    sums = {"train": "1", "valid": "2"}
    return Corpus(pairs[10:], pairs[:10], {}, "copy", "xx", "xx", sums)


class Logits(EncoderDecoder):
    """All that is large in it are its logits."""

    def __init__(self):
        output = nn.Linear(2, VOCAB, bias=False)
        super().__init__(None, None, None, None, output)
        self.vectors = nn.Embedding(VOCAB, 2)

    def forward(self, source, target, where):
        """Logits everywhere: in a made batch every cell is a label."""
        return self.output(self.vectors(target).flatten(0, 1))


def peak(work):
    """The most bytes at once of what the work allocates on the CPU."""
    with profile(
        activities=[ProfilerActivity.CPU], profile_memory=True
    ) as seen:
        work()
    events = seen.profiler.kineto_results.events()
    events = [event for event in events if event.name() == "[memory]"]
    most = held = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("learning", [{}, {"r_drop": 5.0}, {"risk": 3}])
def test_what_a_loss_holds_is_measured(learning, bf16):
    config, model = TrainConfig(bf16=bf16, **learning), Logits()
    objective = Unsearched(LETTERS) if config.risk else batch_loss
    batch = largest_batch(TOKENS, 16)

    def work():
        objective(model, batch, config).backward()

    work()  # gradients of the weights are no part of the loss
    found = peak(work) / (TOKENS * VOCAB)
    assert found == pytest.approx(loss_bytes(config), rel=0.01)


@pytest.mark.parametrize(
    "tokens, longest", [(4096, 256), (500, 256), (90, 256), (25_000, 61)]
)
def test_no_batch_is_larger(tokens, longest):
    batch = largest_batch(tokens, longest)
    rows, length = batch.labels.shape
    assert batch.source.shape == batch.labels.shape
    assert batch.tokens == rows * length  # no padding
    assert tokens <= batch.tokens < tokens + rows
    assert length <= longest and (rows - 1) * longest < tokens


def test_what_bpe_dropout_has_grown_counts():
    sides = [(9, 5), (4, 6)]
    grown = [make_batch([([4] * a, [4] * b)] * 20) for a, b in sides]
    batch = largest_batch(100, 5, grown)
    assert batch.source.numel() == pytest.approx(9 * 20, abs=len(batch.source))
    assert batch.labels.numel() == pytest.approx(6 * 20, abs=len(batch.labels))
    assert batch.source.size(1) == 9


def copies(model, optimizer):
    """Everything that a trial must leave as it is."""
    moments = [
        tensor.clone()
        for state in optimizer.state.values()
        for tensor in state.values()
    ]
    weights = [p.detach().clone() for p in model.parameters()]
    return weights + moments + [torch.get_rng_state()]


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("steps", [0, 1])
def test_a_trial_changes_nothing(steps, accumulate):
    torch.manual_seed(1)
    model = transformer(replace(SMALL.model, vocab_size=20))
    optimizer, seen = adam(model.parameters()), []
    config = replace(SMALL.train, accumulate=accumulate)
    batch = largest_batch(200, 10)
    for _ in range(steps):  # as on resume: there are moments
        batch_loss(model, batch, config).backward()
        optimizer.step()
        optimizer.zero_grad()
    before = copies(model, optimizer)

    def objective(model, batch, config):
        held = [p.grad is not None for p in model.parameters()]
        seen.append((batch.labels.shape, all(held)))
        return batch_loss(model, batch, config)

    try_batch(model, optimizer, objective, config, batch)
    # the second batch of an update is computed beside the first's gradients
    passes = [(batch.labels.shape, False), (batch.labels.shape, True)]
    assert seen == passes[:accumulate]
    after = copies(model, optimizer)
    assert all(map(torch.equal, before, after)) and len(before) == len(after)
    assert all(p.grad is None for p in model.parameters())


def test_adams_moments_are_there_during_a_trial():
    model = transformer(replace(SMALL.model, vocab_size=4000, d_model=64))
    count = sum(p.numel() for p in model.parameters())
    batch, optimizer = largest_batch(4, 2), adam(model.parameters())
    given = batch_loss, SMALL.train, batch

    def trial():
        try_batch(model, optimizer, *given)

    fresh = peak(trial)
    batch_loss(model, batch, SMALL.train).backward()
    optimizer.step()
    optimizer.zero_grad()
    resumed = peak(trial)
    assert fresh - resumed == pytest.approx(2 * 4 * count, rel=0.01)


def test_a_trial_of_a_risk_has_as_many_candidates():
    config = replace(SMALL.train, risk=4)
    model = transformer(replace(SMALL.model, vocab_size=20))
    objective, seen = Unsearched(LETTERS), []
    hook = model.register_forward_hook(lambda *_: seen.append(_[2].shape))
    try_batch(
        model,
        adam(model.parameters()),
        objective,
        config,
        largest_batch(60, 6),
    )
    hook.remove()
    assert seen == [(4 * 60, 20)]


def trained(output, corpus, recipe, **given):
    train(output, corpus, recipe, device="cpu", **given)
    lines = [
        {name: x for name, x in line.items() if name != "seconds"}
        for line in read_metrics(output)
    ]
    return read_tensors(output / "model.safetensors")[0], lines


@pytest.mark.parametrize(
    "given",
    [{}, {"r_drop": 1.0, "bf16": True}, {"accumulate": 2}],
    ids=["plain", "r_drop", "accumulated"],
)
def test_a_run_is_the_same_after_a_trial(corpus, tmp_path, monkeypatch, given):
    """Also where it is resumed; forced here, since there is no GPU."""
    recipe = replace(SMALL, train=replace(SMALL.train, **given))
    expected = trained(tmp_path / "plain", corpus, recipe)
    tried, tried_batch = [], loop.try_batch

    def counted(model, optimizer, objective, config, batch):
        tried.append(batch.labels.shape)
        tried_batch(model, optimizer, objective, config, batch)

    monkeypatch.setattr(loop, "TRIED_ON", ("cpu",))
    monkeypatch.setattr(loop, "try_batch", counted)
    output = tmp_path / "tried"
    trained(output, corpus, recipe, max_minutes=0.0)
    found = trained(output, corpus, recipe, resume=True)
    assert len(tried) == 2 and tried[0].numel() >= 200
    assert all(torch.equal(found[0][x], expected[0][x]) for x in expected[0])
    assert found[1][-2:] == expected[1][-2:]


def test_a_finished_run_tries_nothing(corpus, tmp_path, monkeypatch):
    trained(tmp_path, corpus, SMALL)
    monkeypatch.setattr(loop, "TRIED_ON", ("cpu",))
    monkeypatch.setattr(loop, "try_batch", None)
    trained(tmp_path, corpus, SMALL, resume=True)


def test_the_batch_that_is_tried_is_the_largest(corpus, tmp_path):
    """With BPE-dropout, next to those that a run really reads."""
    config = replace(SMALL.train, bpe_dropout=0.5)
    pairs = [(f"{a} {b}", b) for a, b in corpus.train * 5]
    text = replace(corpus, train=pairs)
    recipe = replace(SMALL, train=config, tokenizer="bpe", vocab_size=60)
    train(tmp_path, text, recipe, device="cpu", max_minutes=0.0)
    tokenizer = read_tokenizer(tmp_path / "tokenizer.model")
    model = transformer(replace(SMALL.model, vocab_size=len(tokenizer)))
    run = loop.Run(tmp_path, text, recipe, tokenizer, model)
    grown = list(islice(run.batches(), loop.GROWN))
    longest = max(max(map(len, example)) for example in run.text.examples)
    batch = largest_batch(200, longest, grown)
    assert batch.source.numel() > 1.2 * 200
    for other in islice(run.batches(), 200):
        assert other.source.numel() <= 1.2 * batch.source.numel()
        assert other.labels.numel() <= 1.2 * batch.labels.numel()


CUDA = (
    "CUDA out of memory. Tried to allocate 7.45 GiB. GPU 0 has a total "
    "capacity of 79.11 GiB of which 5.12 GiB is free. Process 7 has 74.0 GiB "
    "memory in use. Of the allocated memory 70.1 GiB is allocated by PyTorch, "
    "and 3.2 GiB is reserved by PyTorch but unallocated."
)


@pytest.mark.parametrize(
    "given, settings",
    [
        ({}, ["`bf16=True`", "`max_length`", "a smaller model"]),
        ({"r_drop": 1.0, "bf16": True}, ["`r_drop`", "`max_length`"]),
    ],
)
def test_too_little_memory_for_the_largest_batch(
    corpus, tmp_path, monkeypatch, given, settings
):
    def broken(*words):
        raise torch.OutOfMemoryError(CUDA)

    monkeypatch.setattr(loop, "TRIED_ON", ("cpu",))
    monkeypatch.setattr(loop, "try_batch", broken)
    recipe = replace(SMALL, train=replace(SMALL.train, **given))
    told = (
        r"at the largest batch, 17 sentences of 12 tokens \(CUDA out of "
        r"memory. Tried to allocate 7.45 GiB. .* in use.\): in a new run low"
    )
    with pytest.raises(UserError, match=told) as caught:
        train(tmp_path / "model", corpus, recipe, device="cpu")
    for name in ("`accumulate`", *settings):
        assert name in str(caught.value)
    assert ("`bf16=True`" in settings) == ("`bf16=True`" in str(caught.value))
    assert not list((tmp_path / "model").glob("checkpoints/*"))


def test_another_error_of_the_trial_is_no_want_of_memory(
    corpus, tmp_path, monkeypatch
):
    def broken(*words):
        raise RuntimeError("an illegal memory access")

    monkeypatch.setattr(loop, "TRIED_ON", ("cpu",))
    monkeypatch.setattr(loop, "try_batch", broken)
    with pytest.raises(RuntimeError, match="illegal memory access"):
        train(tmp_path / "model", corpus, SMALL, device="cpu")


@pytest.mark.parametrize(
    "error, expected",
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
