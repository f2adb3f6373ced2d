"""Pairs in a prompt and the scores of heads, against plain loops."""

import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.model import ModelConfig
from annotated_transformer.writing import LanguageModel
from experiments.induction import (
    LENGTH,
    MODELS,
    PAIRS,
    SIZES,
    VOCABULARY,
    drawn,
    looks,
    pair_losses,
    roles,
    to_following,
    to_previous,
)
from experiments.shared.removed_heads import without


def model(seed=0):
    torch.manual_seed(seed)
    sizes = SIZES | MODELS["two layers"]
    return LanguageModel(ModelConfig(VOCABULARY, **sizes)).eval()


def test_a_first_token_decides_the_second_where_it_has_occurred():
    torch.manual_seed(1)
    rows, known = drawn(1000)
    assert rows.shape == (1000, LENGTH) and known.shape == (1000, LENGTH // 2)
    for row, seen in zip(rows.tolist(), known.tolist(), strict=True):
        pairs = {}
        for i in range(0, LENGTH, 2):
            first, second = row[i : i + 2]
            assert seen[i // 2] == (first in pairs)
            assert pairs.setdefault(first, second) == second
        assert len({*pairs, *pairs.values()}) == 2 * len(pairs) <= 2 * PAIRS
    followers = {tuple(x) for x in rows.view(-1, 2).tolist() if x[0] == 0}
    assert len(followers) == VOCABULARY - 1  # any token, by the row


def test_losses_of_pairs_against_a_loop():
    torch.manual_seed(2)
    rows, known = drawn(5)
    network = model()
    found = {True: [], False: []}
    with torch.no_grad():
        for row, seen in zip(rows, known.tolist(), strict=True):
            for i in range(0, LENGTH, 2):
                logits = network.next_logits(row[None, : i + 1])[0, -1]
                lost = F.cross_entropy(logits, row[i + 1]).item()
                found[seen[i // 2]].append(lost)
        losses = pair_losses(network, rows, known)
    for name, each in (("again", found[True]), ("first", found[False])):
        mean = sum(each) / len(each)
        assert losses[name] == pytest.approx(mean, abs=1e-4)


def test_scores_against_loops():
    torch.manual_seed(3)
    rows, known = drawn(6)
    weights = torch.rand(6, 3, LENGTH, LENGTH).tril()
    beside, after = [[] for _ in range(3)], [[] for _ in range(3)]
    for i, row in enumerate(rows.tolist()):
        for head in range(3):
            for t in range(LENGTH):
                given = weights[i, head, t]
                if t % 2:
                    beside[head].append(given[t - 1])
                    continue
                former = [s for s in range(0, t, 2) if row[s] == row[t]]
                if former:
                    after[head].append(sum(given[s + 1] for s in former))
    for found, expected in (
        (to_previous(weights), beside),
        (to_following(weights, rows, known), after),
    ):
        means = torch.stack([torch.stack(each).mean() for each in expected])
        torch.testing.assert_close(found, means)


def test_looks_are_the_weights_with_which_the_model_computes():
    rows, _ = drawn(2)
    network = model()
    found, used = looks(network, rows), []

    def spy(query, keys, values, **options):
        unit = torch.eye(keys.size(2)).expand(*keys.shape[:3], -1)
        used.append(
            F.scaled_dot_product_attention(query, keys, unit, **options)
        )
        return F.scaled_dot_product_attention(query, keys, values, **options)

    for layer in network.decoder.layers:
        layer.self_attention.attention_fn = spy
    network.next_logits(rows)
    for ours, theirs in zip(found, used, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_a_head_has_each_role_whose_score_is_at_least_a_half():
    found = {
        "previous": [[0.9, 0.5, 0.1], [0.0, 0.2, 0.3]],
        "own": [[0.1, 0.6, 0.2], [0.1, 0.1, 0.1]],
        "following": [[0.0, 0.0, 0.0], [0.49, 0.51, 0.0]],
    }
    assert roles(found) == {
        "previous": [(0, 0), (0, 1)],
        "own": [(0, 1)],
        "following": [(1, 1)],
        "other": [(0, 2), (1, 0), (1, 2)],
    }


def test_a_removed_head_says_nothing_and_comes_back():
    """Against the sum of what the heads write, each by itself."""
    torch.manual_seed(4)
    attention, x = MultiHeadAttention(12, 3), torch.randn(2, 5, 12)
    whole = attention(x, x)
    parts = []
    for head in range(3):
        others = [(attention, other) for other in range(3) if other != head]
        with without(others):
            parts.append(attention(x, x) - attention.output.bias)
    torch.testing.assert_close(sum(parts) + attention.output.bias, whole)
    with without([(attention, 1)]):
        left = attention(x, x)
    torch.testing.assert_close(left, whole - parts[1])
    with pytest.raises(KeyError), without([(attention, 0)]):
        raise KeyError
    torch.testing.assert_close(attention(x, x), whole)
