"""Adapters and groups, against full training and models of equal heads."""

from copy import deepcopy

import pytest
import torch
from torch_twins import lively

from annotated_transformer.adapting import (
    LINEAR_MAPS,
    add_adapters,
    group_heads,
    merge_adapters,
)
from annotated_transformer.data import copy_task, make_batch, train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.training import TrainConfig, batch_loss, updates

SIZES = ModelConfig(
    30, layers=2, d_model=16, d_ff=16, heads=4, dropout=0.0, pre_norm=True
)
CONFIG = TrainConfig(steps=3, warmup=1, schedule="linear", peak_lr=0.01)


@pytest.fixture(scope="module")
def batch():
    pairs = copy_task(8)
    pieces = train_tokenizer((x for pair in pairs for x in pair), 30, "char")
    return make_batch([(pieces.encode(a), pieces.encode(b)) for a, b in pairs])


def model_of(**changes):
    torch.manual_seed(1)
    made = transformer(ModelConfig(**(vars(SIZES) | changes)))
    return lively(made)


def parameters(model):
    return [*model.named_parameters()]


def logits(model, batch):
    with torch.no_grad():
        return model.eval()(batch.source, batch.inputs)


def test_at_full_rank_an_adapter_is_full_training(batch):
    """By gradient descent, with A square, orthogonal and left as it is."""
    full = model_of().double()
    low = deepcopy(full)
    full.requires_grad_(False)
    for name, weight in full.named_parameters():
        owner, _, kind = name.rpartition(".")
        named = owner.rpartition(".")[2] in LINEAR_MAPS
        weight.requires_grad_(named and kind == "weight")
    add_adapters(low, rank=16)
    for name, weight in low.named_parameters():
        if name.endswith(".down"):
            assert weight.shape == (16, 16)
            weight.requires_grad_(False)
    began = deepcopy(full.state_dict())
    for model in (full, low):
        trained = [x for x in model.parameters() if x.requires_grad]
        steps = torch.optim.SGD(trained, lr=0.01)
        for _ in range(4):
            steps.zero_grad()
            batch_loss(model, batch, CONFIG).backward()
            steps.step()
    merge_adapters(low)
    for name, weight in low.state_dict().items():
        torch.testing.assert_close(weight, full.state_dict()[name])
    moved = [n for n, w in full.state_dict().items() if not w.equal(began[n])]
    assert len(moved) == 2 * 4 + 2 * 6 + 2 * 2 + 2


@pytest.mark.parametrize("rank", [1, 3])
def test_an_adapter_changes_nothing_at_first_and_little_later(batch, rank):
    model = model_of()
    began, before = deepcopy(model.state_dict()), logits(model, batch)
    add_adapters(model, rank, ("query", "key_value"))
    assert logits(model, batch).equal(before)
    trained = [x for x in model.parameters() if x.requires_grad]
    # encoder, decoder, and the decoder's cross-attention, two layers each
    assert sum(x.numel() for x in trained) == 6 * rank * (32 + 16 + 32)
    for _ in updates(
        model, iter([batch] * 3), adam(model.parameters()), CONFIG, 16
    ):
        pass
    adapted = logits(model, batch)
    assert (adapted - before).abs().max() > 1e-3
    merge_adapters(model)
    torch.testing.assert_close(logits(model, batch), adapted)
    assert all(x.requires_grad for x in model.parameters())
    for name, weight in model.state_dict().items():
        change = weight - began[name]
        if name.endswith(("query.weight", "key_value.weight")):
            assert 0 < torch.linalg.matrix_rank(change, rtol=1e-9) <= rank
        else:
            assert not change.any()


@pytest.mark.parametrize(
    ("rank", "names", "told"),
    [
        (2, "query", "`names='query'`: must be a list.* inner, key_value,"),
        (2, ("query", "qeury"), r"`names=\('query', 'qeury'\)`: .* query$"),
        (2, ("cross_attention",), "this model has inner, key_value, outer,"),
        (2, (), r"`names=\(\)`: must be a list"),
        *((rank, LINEAR_MAPS, f"`rank={rank}`") for rank in (0, -1)),
    ],
)
def test_adapters_that_cannot_be_change_nothing(rank, names, told):
    model = model_of()
    before = {name: kept.requires_grad for name, kept in parameters(model)}
    with pytest.raises(UserError, match=told):
        add_adapters(model, rank, names)
    after = {name: kept.requires_grad for name, kept in parameters(model)}
    assert after == before and all(after.values())


def test_names_are_read_once_and_a_model_may_have_no_linear_map():
    model = model_of()
    add_adapters(model, 1, (name for name in ("query", "inner")))
    ways = {
        name.split(".")[-5] for name, x in parameters(model) if x.requires_grad
    }
    assert ways == {"query", "inner"}
    with pytest.raises(UserError, match="this model has none"):
        add_adapters(torch.nn.LayerNorm(3), 1)


@pytest.mark.parametrize("training", [True, False])
def test_a_grouped_model_has_the_mode_of_its_model(training):
    grouped = group_heads(model_of().train(training), 2)
    assert {part.training for part in grouped.modules()} == {training}


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups_of_equal_heads_lose_nothing(batch, groups):
    """Any model with heads that are equal in each group of neighbours."""
    model = model_of()
    size = 4 // groups
    for name, weight in model.named_parameters():
        if ".key_value." in name:
            heads = weight.data.unflatten(0, (2, groups, size, -1))
            heads.copy_(heads[:, :, :1].expand_as(heads).clone())
    grouped = group_heads(model, groups)
    assert grouped.config.kv_heads == groups
    torch.testing.assert_close(logits(grouped, batch), logits(model, batch))


def test_a_group_has_the_mean_of_its_heads():
    model = model_of(d_k=3, d_v=5)
    grouped = group_heads(model, 2)
    ours, theirs = (
        x.decoder.layers[1].cross_attention.key_value for x in (grouped, model)
    )
    for one, many in ((ours.weight, theirs.weight), (ours.bias, theirs.bias)):
        for head, group in ((0, 0), (1, 0), (2, 1), (3, 1)):
            other = head ^ 1
            for width, old, new in ((3, 0, 0), (5, 12, 6)):
                mean = sum(
                    many[old + width * h : old + width * (h + 1)]
                    for h in (head, other)
                )
                found = one[new + width * group : new + width * (group + 1)]
                torch.testing.assert_close(2 * found, mean)
