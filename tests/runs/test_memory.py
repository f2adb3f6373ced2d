"""What a training needs in memory: tried at once, and told where it lacks."""

from dataclasses import replace
from itertools import islice

import pytest
import torch
from small_runs import CORPUS, SMALL, learning
from torch.profiler import ProfilerActivity, profile

from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError, out_of_memory
from annotated_transformer.model import transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.runs import loop
from annotated_transformer.runs.batches import TrainingText
from annotated_transformer.runs.memory import try_batch
from annotated_transformer.runs.run import train
from annotated_transformer.training import batch_loss, updates


@pytest.mark.parametrize("tokens", [40, 200, 4096])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_no_batch_of_the_text_is_larger(tokens, dropout):
    """By its cells, its sentences and their lengths, over many epochs."""
    pairs = [(f"{a} {b}", b) for a, b in CORPUS.train] + CORPUS.valid
    recipe = learning(SMALL, batch_tokens=tokens, bpe_dropout=dropout)
    recipe = replace(recipe, tokenizer="bpe", vocab_size=60)
    tokenizer = train_tokenizer([" ".join(x) for x in pairs], 60)
    text = TrainingText(replace(CORPUS, train=pairs), tokenizer, recipe)
    made = text.largest_batches()
    most, long = made
    assert len(most.labels) >= len(long.labels)
    growth = 1.5 if dropout else 1  # it varies from epoch to epoch
    for real in islice(text.batches(), 200):
        assert len(real.labels) <= len(most.labels)
        for name in ("source", "labels"):
            cells = max(getattr(batch, name).numel() for batch in made)
            assert getattr(real, name).numel() <= growth * cells
            width = getattr(long, name).size(1)
            assert getattr(real, name).size(1) <= growth * width
    for batch in made:
        assert batch.tokens == batch.labels.numel() >= tokens  # no padding
        if not dropout:
            assert max(batch.source.numel(), batch.tokens) < 1.6 * tokens


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


def test_a_trial_takes_the_memory_of_a_run():
    """Adam's moments and gradients, as where updates accumulate, are there."""
    sizes = replace(SMALL.model, vocab_size=4000, d_model=64)
    config = replace(SMALL.train, accumulation_steps=3)
    text = TrainingText(CORPUS, train_tokenizer(["abc"], 8, "char"), SMALL)
    batch, _ = text.largest_batches()

    def real():
        model = transformer(sizes)
        turns = updates(
            *(model, iter([batch] * 9), adam(model.parameters())), config, 64
        )
        list(islice(turns, 3))

    def trial():
        model = transformer(sizes)
        optimizer = adam(model.parameters())
        try_batch(model, optimizer, batch_loss, config, batch)

    assert peak(trial) == pytest.approx(peak(real), rel=0.02)


def test_a_trial_of_a_risk_has_as_many_candidates():
    tokenizer = train_tokenizer(["abc"], 8, "char")
    plain, risky = (
        TrainingText(CORPUS, tokenizer, recipe).largest_batches()
        for recipe in (SMALL, learning(SMALL, risk=4))
    )
    for one, other in zip(plain, risky, strict=True):
        assert other.labels.equal(one.labels.repeat(4, 1))


CUDA = (
    "CUDA out of memory. Tried to allocate 7.45 GiB. GPU 0 has a total "
    "capacity of 79.11 GiB of which 5.12 GiB is free. Process 7 has 74.0 GiB "
    "memory in use. Of the allocated memory 70.1 GiB is allocated by PyTorch, "
    "and 3.2 GiB is reserved by PyTorch but unallocated."
)


def test_too_little_memory_for_the_largest_batch(tmp_path, monkeypatch):
    def broken(*words):
        raise errors.pop()

    errors = [RuntimeError("illegal access"), torch.OutOfMemoryError(CUDA)]
    monkeypatch.setattr(loop, "TRIED_ON", ("cpu",))
    monkeypatch.setattr(loop, "try_batch", broken)
    told = (
        r"at the largest batch, [1-3]\d sentences of \d+ tokens \(CUDA out of "
        r"memory. Tried to allocate 7.45 GiB. .* in use.\): in a new run low"
    )
    with pytest.raises(UserError, match=told) as caught:
        train(tmp_path / "model", CORPUS, SMALL, device="cpu")
    for name in ("`accumulation_steps`", "`bf16=True`", "`max_length`"):
        assert name in str(caught.value)
    names = [x.stem for x in (tmp_path / "model" / "checkpoints").iterdir()]
    assert names == ["step-00000000"]
    with pytest.raises(RuntimeError, match="illegal access"):
        train(tmp_path / "model", CORPUS, SMALL, device="cpu")


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
