"""What a run reads: each epoch counted by hand, and batches made ahead."""

from collections import Counter
from dataclasses import replace
from itertools import chain, count, islice

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import learning

from annotated_transformer.corpora.corpus import Corpus, Extra
from annotated_transformer.data import (
    bucket,
    make_batch,
    train_tokenizer,
)
from annotated_transformer.errors import UserError
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.runs.prepare import prepare
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.runs.run import prefetch
from annotated_transformer.runs.train import encode_corpus

LETTERS = train_tokenizer(["abcdefghij"], 20, "char")
COPY = RECIPES["copy"]


def recipe_with(**options):
    return learning(COPY, **options)


def text_of(*sizes, long=(), **options):
    """The text of a corpus that has as many pairs, with shares or without.

    Pair n is the number n in letters, twice; long ones have more letters
    than the limit allows.
    """
    total = sum(size for size, _ in sizes)
    words = [
        "".join("abcdefghij"[int(x)] for x in f"{n}") for n in range(total)
    ]
    pairs = [
        (word * 9 if n in long else word, word) for n, word in enumerate(words)
    ]
    extras = [
        Extra(f"extra {n}", size, share)
        for n, (size, share) in enumerate(sizes[1:])
    ]
    corpus = Corpus(pairs, pairs, {}, "numbers", "x", "x", {}, tuple(extras))
    options = {"max_length": 9, "seed": 3} | options
    return encode_corpus(corpus, LETTERS, recipe_with(**options)).learned


parts = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([None, 0.01, 0.1, 0.3])),
    max_size=3,
)


@given(st.integers(1, 60), parts, st.integers(0, 9))
@settings(max_examples=30, deadline=None)
def test_an_epoch_has_its_shares_and_every_pair_its_turn(own, extras, seed):
    """Against a count by hand, over many epochs."""
    text = text_of((own, None), *extras, seed=seed)
    plain = own + sum(size for size, share in extras if share is None)
    total = plain / (1 - sum(share or 0 for _, share in extras))
    read = [Counter(text.epoch(number)) for number in range(15)]
    start = own
    assert all(epoch[i] == 1 for epoch in read for i in range(own))
    for size, share in extras:
        places = range(start, start + size)
        counts = [sum(epoch[i] for i in places) for epoch in read]
        expected = size if share is None else max(1, round(share * total))
        assert counts == [expected] * 15
        so_far = Counter()
        for epoch in read:  # like cards: nobody has two more than another
            so_far.update({i: epoch[i] for i in places})
            assert max(so_far.values()) - min(so_far.values()) <= 1
        start += size


def test_epochs_differ_and_follow_from_the_seed():
    sizes = (30, None), (400, 0.4)
    one, same = text_of(*sizes), text_of(*sizes)

    def epochs(text, *numbers):
        return [text.epoch(n)[30:].tolist() for n in numbers]

    assert epochs(one, 5, 0) == epochs(same, 5, 0)
    assert epochs(one, 0) != epochs(one, 1)
    assert epochs(one, 0) != epochs(text_of(*sizes, seed=4), 0)
    assert epochs(one, 0, 1) != epochs(one, 20, 21)


@pytest.mark.parametrize("order", ["target", "longest"])
def test_batches_are_those_of_the_epochs(order):
    """And the same if some are passed over, or dealt to several readers."""
    text = text_of((30, None), (60, 0.4), order=order, batch_tokens=24)
    whole = [*islice(text.batches(), 60)]
    number = 0
    for epoch in range(4):
        left = Counter(
            LETTERS.decode(text.text[i][1]) for i in text.epoch(epoch).tolist()
        )
        while left.total():
            rows = whole[number].labels.tolist()
            left.subtract(Counter(map(LETTERS.decode, rows)))
            number += 1
        assert not any(left.values())
    for skip, every in [(0, 3), (1, 3), (17, 1)]:
        some = islice(text.batches(skip, every), 10)
        for one, other in zip(some, whole[skip::every], strict=False):
            assert one.source.equal(other.source)
    plain = text_of((30, None), order=order, batch_tokens=24)
    lengths = plain.text.lengths
    each = (bucket(lengths, 24, f"3 {n}", order) for n in count())
    expected = map(plain.text.batch, chain.from_iterable(each))
    for one, other in islice(zip(plain.batches(), expected, strict=True), 40):
        assert one.labels.equal(other.labels)


def test_pairs_that_are_too_long_are_told_and_left_out(capsys):
    sizes = (6, None), (3, None), (4, 0.5)
    text = text_of(*sizes, long=(0, 4, 6, 12))
    whole = [1, 2, 3, 5, 7, 8]
    assert text.epoch(0)[:6].tolist() == whole and len(text.epoch(0)) == 12
    told = capsys.readouterr().err
    assert "training text: 2 of 6 pairs have more than 9 tokens" in told
    assert "extra 0: 1 of 3 pairs" in told and "first is pair 1" in told
    assert "first is pair 4; `max_length`, " in told
    for long, name in [(range(6), "training text"), (range(9, 13), "extra 1")]:
        with pytest.raises(UserError, match=f"{name}: none of its [46] "):
            text_of(*sizes, long=long)
    # no batch is larger than it may be, and no text outgrows its positions
    text_of((1000, None), batch_tokens=4)
    told = capsys.readouterr().err
    assert "900 of 1000" in told and "more than 4 tokens" in told
    model = replace(COPY.model, positions="learned", max_length=4)
    recipe = replace(COPY, model=model)
    pairs = [("a", "b"), ("abcd", "b")]
    corpus = Corpus.from_pairs(pairs, pairs)
    ready = prepare(recipe, corpus)
    encode_corpus(corpus, ready.tokenizer, ready.recipe)
    assert "1 of 2 pairs have more than 4 tokens" in capsys.readouterr().err


def test_validation_runs_over_each_pair_once():
    examples = text_of((50, None)).text
    found = fixed_batches(examples, 16)
    assert all(b.labels.numel() <= 16 >= b.source.numel() for b in found)
    rows = [LETTERS.decode(row) for b in found for row in b.labels.tolist()]
    assert Counter(rows) == Counter(LETTERS.decode(x) for _, x in examples)
    again = fixed_batches(examples, 16)
    assert all(
        a.source.equal(b.source) for a, b in zip(found, again, strict=True)
    )


BATCHES = [make_batch([([4] * n + [2], [5, 2])] * n) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_batches_come_ahead_in_their_order(device):
    asked = []

    def counted():
        for batch in BATCHES:
            asked.append(batch)
            yield batch

    found = prefetch(counted(), device, number=2)
    first = next(found)
    assert 1 <= len(asked) <= 3  # not all at once
    moved = [first, *found]
    assert {batch.source.device.type for batch in moved} == {device}
    assert [b.tokens for b in moved] == [b.tokens for b in BATCHES]


def test_what_the_thread_raises_comes_in_the_place_of_the_batch():
    def broken():
        yield from BATCHES[:3]
        raise ValueError("no more")

    found = []
    with pytest.raises(ValueError, match="no more"):
        found.extend(prefetch(broken(), "cpu"))


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device is at hand"
)
def test_batches_come_to_a_gpu_without_waiting():
    """Many, so that memory of the first ones has been given away again."""
    rows = [[([i, n, 2], [n] * n + [2])] * n for i in range(9) for n in (4, 9)]
    made = [make_batch(some) for some in rows]
    busy = torch.randn(2000, 2000, device="cuda")
    moved, sums = prefetch(iter(made), "cuda"), []
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in moved:
            busy = (busy @ busy).clamp(-1, 1)  # while the next are copied
            sums.append(torch.stack([x.sum() for x in vars(batch).values()]))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    expected = [[int(x.sum()) for x in vars(b).values()] for b in made]
    assert torch.stack(sums).tolist() == expected
