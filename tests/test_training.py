"""Training, against plain loops, joint batches and uninterrupted runs."""

import copy
import math
from contextlib import suppress
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from annotated_transformer.data import make_batch, training_batches
from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.objectives import RDrop
from annotated_transformer.training import (
    TrainConfig,
    accumulate,
    average,
    batch_loss,
    evaluating,
    updates,
    validate,
)

SIZES = ModelConfig(
    vocab_size=11, layers=1, d_model=16, d_ff=32, heads=2, dropout=0.0
)
CONFIG = TrainConfig(
    steps=8, batch_tokens=40, schedule="linear", warmup=2, peak_lr=1e-2
)


@pytest.fixture
def examples():
    random = torch.Generator().manual_seed(5)
    rows = []
    for length in torch.randint(1, 9, (60,), generator=random).tolist():
        row = torch.randint(4, 11, (length,), generator=random).tolist()
        rows.append(([*row, EOS], [*row[::-1], EOS]))
    return rows


def fresh(sizes=SIZES):
    torch.manual_seed(0)
    return transformer(sizes)


def test_loss_is_that_of_a_plain_loop(examples):
    model, total = fresh().eval(), 0.0
    for source, target in examples[:5]:
        logits = model(torch.tensor([source]), torch.tensor([[BOS, *target]]))
        for scores, label in zip(logits[0], target, strict=False):
            log_p = scores.log_softmax(-1)
            total -= 0.9 * log_p[label] + 0.1 * log_p.mean()
    loss = batch_loss(model, make_batch(examples[:5]), CONFIG)
    assert loss.item() == pytest.approx(total.item(), rel=1e-5)


def test_r_drop_is_two_losses_and_two_divergences(examples):
    model = fresh(replace(SIZES, dropout=0.3))
    batch = make_batch(examples[:5])
    weight = 0.5
    torch.manual_seed(1)
    loss = RDrop(weight)(model, batch, CONFIG)
    torch.manual_seed(1)
    double = batch.duplicated()
    log_p = model(double.source, double.inputs, double.where).log_softmax(-1)
    one, other = log_p.chunk(2)
    labels = batch.labels[batch.where]
    expected = sum(
        F.cross_entropy(some, labels, label_smoothing=0.1, reduction="sum")
        for some in (one, other)
    )
    for a, b in ((one, other), (other, one)):
        divergence = F.kl_div(b, a, log_target=True, reduction="sum")
        assert divergence > 0.01  # the halves meet different dropout
        expected = expected + weight / 2 * divergence
    torch.testing.assert_close(loss, expected / 2)


def one_update(parts, clip=math.inf):
    """The gradient that an optimizer of rate 1 goes down, and its norm."""
    model = fresh().double()
    before = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    once = {"steps": 1, "warmup": 1, "peak_lr": 1.0, "clip": clip}
    config = replace(CONFIG, **once, accumulation_steps=len(parts))
    (update,) = updates(model, iter(parts), optimizer, config, 16)
    old, new = (
        nn.utils.parameters_to_vector(x.parameters()) for x in (before, model)
    )
    return old - new, update.norm


def test_accumulation_is_the_joint_batch(examples):
    """Parts of different sizes weigh by their labels, not alike."""
    parts = [make_batch(examples[:2]), make_batch(examples[2:20])]
    one, other = one_update(parts), one_update([make_batch(examples[:20])])
    torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_clipping_bounds_the_gradient(examples):
    gradient, norm = one_update([make_batch(examples)], clip=0.1)
    assert gradient.norm().item() == pytest.approx(0.1, rel=1e-3)
    assert norm > 0.1


def test_dropout_is_back_on_after_a_validation(examples):
    model = fresh(replace(SIZES, dropout=0.5))
    optimizer = adam(model.parameters())
    batches = training_batches(examples, 40, 0)
    for update in updates(model, batches, optimizer, CONFIG, 16):
        assert model.training
        model.eval()
        if update.step == 2:
            break


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_each_part_has_its_own_mode_after_an_evaluation(training, fails):
    model = fresh().train(training)
    model.encoder.train(not training)
    before = [part.training for part in model.modules()]
    with suppress(KeyboardInterrupt), evaluating(model):
        assert not any(part.training for part in model.modules())
        if fails:
            raise KeyboardInterrupt
    assert [part.training for part in model.modules()] == before


def test_a_validation_that_fails_changes_no_mode(examples):
    model = fresh().train()
    batch = make_batch(examples)
    batch.source[0, 0] = SIZES.vocab_size  # no such token
    with pytest.raises(IndexError):
        validate(model, [batch])
    assert all(part.training for part in model.modules())


def test_batches_that_end_are_no_updates(examples):
    model, batches = fresh(), iter([make_batch(examples)])
    turns = updates(
        model, batches, adam(model.parameters()), TrainConfig(steps=3), 16
    )
    assert next(turns).step == 1
    with pytest.raises(ValueError, match="update 2: there are no more"):
        next(turns)


POISONS = {
    "infinite": lambda loss: loss * math.inf,
    "nan": lambda loss: loss * math.nan,
    # the loss is finite, its gradient is not
    "gradient": lambda loss: loss + (0 * loss).sqrt(),
}


@pytest.mark.parametrize("poison", POISONS)
def test_what_is_not_finite_is_remembered(examples, poison):
    """From that update on, and the loop ends with an error."""
    bad = 5

    def objective(*arguments):
        loss = batch_loss(*arguments)
        return POISONS[poison](loss) if len(seen) == bad - 1 else loss

    model, seen = fresh(), []
    batches = training_batches(examples, CONFIG.batch_tokens, CONFIG.seed)
    turns = updates(
        model,
        batches,
        adam(model.parameters()),
        CONFIG,
        SIZES.d_model,
        objective=objective,
    )
    with pytest.raises(FloatingPointError, match="by update 8 a loss or a"):
        for update in turns:
            seen.append(update)
    assert [bool(x.finite) for x in seen] == [n < bad for n in range(1, 9)]
    for update in seen[: bad - 1]:
        update.check()
    for update in seen[bad - 1 :]:
        with pytest.raises(FloatingPointError, match=f"update {update.step}"):
            update.check()


def test_a_gradient_of_several_devices_is_clipped(examples):
    """What finds it returns the loss and the number of tokens, too."""
    seen = []

    def halved(model, *given):
        loss, tokens = accumulate(model, *given)
        for parameter in model.parameters():
            parameter.grad.mul_(0.5)
        return loss + 1, tokens + 7

    for given in (accumulate, halved):
        torch.manual_seed(0)
        model = fresh()
        batches = training_batches(examples, CONFIG.batch_tokens, 0)
        optimizer = adam(model.parameters())
        turns = updates(
            *(model, batches, optimizer, CONFIG, 16), accumulate=given
        )
        seen.append(next(turns))
    alone, together = seen
    assert together.tokens == alone.tokens + 7
    torch.testing.assert_close(together.loss, alone.loss + 1)
    torch.testing.assert_close(together.norm, alone.norm / 2)


def test_the_rate_follows_the_schedule(examples):
    model, batches = fresh(), training_batches(examples, 40, 0)
    optimizer = adam(model.parameters())
    seen = updates(model, batches, optimizer, CONFIG, SIZES.d_model)
    assert [u.rate for u in seen] == pytest.approx(
        [0.005, 0.01, *(0.01 * (8 - s) / 6 for s in range(3, 9))]
    )
    stable = replace(CONFIG, schedule="stable", decay=0.5)
    assert [stable.rate(step, 16) for step in range(1, 9)] == pytest.approx(
        [0.005, *3 * [0.01], *(0.01 * (8 - s) / 4 for s in range(5, 9))]
    )
    paper = TrainConfig()
    assert paper.rate(4000, 512) == pytest.approx(6.9877e-4, rel=1e-4)
    doubled = replace(paper, peak_lr=2 * paper.rate(4000, 512))
    assert doubled.rate(9000, 512) == pytest.approx(2 * paper.rate(9000, 512))


def test_validation_is_a_plain_mean_over_tokens(examples):
    model = fresh(replace(SIZES, dropout=0.5)).train()
    result = validate(
        model, [make_batch(examples[:3]), make_batch(examples[3:30])]
    )
    assert model.training
    assert all(p.grad is None for p in model.parameters())
    model.eval()
    losses, right = [], []
    for source, target in examples[:30]:
        inputs = torch.tensor([[BOS, *target[:-1]]])
        logits = model(torch.tensor([source]), inputs)[0]
        labels = torch.tensor(target)
        losses += F.cross_entropy(logits, labels, reduction="none").tolist()
        right += (logits.argmax(-1) == labels).tolist()
    mean = sum(losses) / len(losses)
    assert result.loss == pytest.approx(mean, rel=1e-5)
    assert result.perplexity == pytest.approx(math.exp(mean), rel=1e-5)
    assert result.accuracy == pytest.approx(sum(right) / len(right))


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_the_mean_of_checkpoints(number):
    """Of weights that all share, these; the inputs stay as they are."""
    draw = torch.Generator().manual_seed(number)
    frozen = torch.randn(1000, generator=draw)
    states = [
        {"a": torch.randn(1000, generator=draw), "b": frozen}
        for _ in range(number)
    ]
    before = copy.deepcopy(states)
    found = average(states)
    exact = sum(state["a"].double() for state in states) / number
    torch.testing.assert_close(found["a"].double(), exact, rtol=0, atol=1e-6)
    assert torch.equal(found["b"], frozen)
    found["b"] += 1
    for state, was in zip(states, before, strict=True):
        assert all(torch.equal(state[name], was[name]) for name in was)
