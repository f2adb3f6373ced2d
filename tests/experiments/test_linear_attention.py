"""Linear attention: what it sees, and the words that it recalls."""

import torch
from torch.nn import functional as F

from annotated_transformer.attention import causal_mask
from experiments.linear_attention import (
    KINDS,
    TASK,
    WORDS,
    Recall,
    build,
    linear_attention,
)
from experiments.shared.lookups import questions
from ledger.records import read_run


def test_without_a_mask_all_is_seen():
    query, keys, values = torch.randn(3, 2, 3, 9, 4, dtype=torch.float64)
    masked = linear_attention(query, keys, values, attn_mask=causal_mask(9))
    everything = linear_attention(query, keys, values)
    torch.testing.assert_close(everything[:, :, -1], masked[:, :, -1])


def test_the_plays_model_sees_no_later_letter():
    torch.manual_seed(1)
    model = build("linear").eval()
    letters = torch.randint(65, (2, 12))
    other = letters.clone()
    other[:, 7] = (letters[:, 7] + 1) % 65
    with torch.no_grad():
        change = model.next_logits(letters) - model.next_logits(other)
    moved = change.abs().sum((0, 2)) > 0
    assert moved.tolist() == [False] * 7 + [True] * 5


def test_a_question_asks_for_a_word_that_was_shown():
    torch.manual_seed(2)
    asked, shown, given, right = questions(
        50, 1, {**TASK, "words": 5, "vocabulary": 40}
    )
    assert shown.shape == (50, 5) and shown.max() < 40
    for word, row, values, answer in zip(
        asked, shown, given, right, strict=True
    ):
        assert row.unique().numel() == 5
        assert values[row.tolist().index(word.item())] == answer


def test_all_have_as_many_parameters_and_the_state_is_four_times_as_large():
    counts = {
        sum(p.numel() for p in Recall(kind).parameters())
        for kind in KINDS.values()
    }
    assert len(counts) == 1
    sizes = []
    for name in ("linear", "linear, one head"):
        attention = Recall(KINDS[name]).attention
        sizes.append(attention.heads * attention.d_k * attention.d_v)
        assert attention.attention_fn is not F.scaled_dot_product_attention
    assert sizes == [1024, 4096]


def test_the_record():
    results = read_run("linear_attention")["results"]

    def right(name, words):
        return [
            results[f"recall {name} words={words} seed={seed}"]["right"]
            for seed in range(3)
        ]

    assert min(min(right("softmax", words)) for words in WORDS) > 0.9
    for name in ("linear", "linear, one head"):
        assert min(right(name, 4)) > max(right(name, 64))
    assert max(right("linear", 64)) < min(right("linear, one head", 64))
