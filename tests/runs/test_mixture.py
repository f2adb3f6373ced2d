"""What an epoch reads of several texts, counted by hand."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from annotated_transformer.corpora.corpus import Corpus, Extra
from annotated_transformer.data import copy_task, training_batches
from annotated_transformer.errors import UserError
from annotated_transformer.runs.mixture import Mixture
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.runs.run import train
from annotated_transformer.system.atomic_files import sha256


def test_without_shares_an_epoch_is_the_whole_text():
    for extras in (), (Extra("a", 3), Extra("b", 2)):
        mixture = Mixture.of(10, extras)
        assert mixture.places(1, 0) == mixture.places(2, 7) == [*range(10)]


def test_an_epoch_has_its_shares():
    """60 of people and 20 extra are 40 % of 200: then 20 % are 40 pairs."""
    extras = [Extra("a", 400, 0.4), Extra("b", 20), Extra("c", 8, 0.2)]
    mixture = Mixture.of(60 + 400 + 20 + 8, extras)
    for epoch in range(12):
        places = mixture.places(3, epoch)
        assert len(places) == 200
        assert places[:80] == [*range(60), *range(460, 480)]
        parts = places[80:160], places[160:]
        assert {*parts[0]} <= {*range(60, 460)} and len({*parts[0]}) == 80
        # eight pairs for forty places: each five times
        assert Counter(parts[1]) == dict.fromkeys(range(480, 488), 5)


def test_every_pair_has_its_turn():
    """Five epochs of 80 are the part's 400 pairs, in an order of its own."""
    mixture = Mixture.of(520, [Extra("a", 400, 0.4)])
    read = [mixture.places(3, epoch)[120:] for epoch in range(10)]
    for some in read[:5], read[5:]:
        assert sorted(sum(some, [])) == [*range(120, 520)]
    assert sum(read[:5], []) != sum(read[5:], [])
    assert mixture.places(4, 0)[120:] != read[0]


def test_epochs_that_end_between_two_rounds():
    """Seven pairs, three an epoch: no pair comes a third time too early."""
    mixture = Mixture.of(16, [Extra("a", 7, 0.25)])
    read = [mixture.places(0, epoch)[9:] for epoch in range(70)]
    assert {len(some) for some in read} == {3}
    dealt = sum(read, [])
    for start in range(0, 210, 7):
        assert sorted(dealt[start : start + 7]) == [*range(9, 16)]


def test_what_is_left_out_counts_nowhere():
    """Of the text's 5 pairs, 2 are left out, and 1 of each of the others."""
    extras = [Extra("a", 3), Extra("b", 4, 0.5)]
    mixture = Mixture.of(12, extras, [0, 4, 5, 11])
    assert mixture.whole == [0, 1, 2, 3, 4]
    assert mixture.shared == [(range(5, 8), 5)]
    with pytest.raises(UserError, match="b: all its pairs are too long"):
        Mixture.of(12, extras, [8, 9, 10, 11])
    with pytest.raises(UserError, match="all pairs without a share"):
        Mixture.of(12, extras, [*range(8)])


def test_a_small_share_is_one_pair():
    assert Mixture.of(4, [Extra("a", 2, 0.01)]).shared == [(range(2, 4), 1)]


def test_batches_have_the_mixture():
    examples = [
        ([4 + n % 9] * (1 + n % 5) + [2], [n + 4, 2]) for n in range(90)
    ]
    mixture = Mixture.of(90, [Extra("a", 60, 0.4)])  # 20 of an epoch's 50
    stream = training_batches(
        examples, 24, 1, reads=lambda epoch: mixture.places(1, epoch)
    )
    for epoch in range(4):
        read = []
        while len(read) < 50:
            batch = next(stream)
            read += [row[0] - 4 for row in batch.labels.tolist()]
        assert sorted(read) == sorted(mixture.places(1, epoch))
    whole = training_batches(examples, 24, 1)
    named = training_batches(examples, 24, 1, reads=lambda _: range(90))
    for one, other in islice(zip(whole, named, strict=True), 40):
        assert one.labels.equal(other.labels)


def test_a_run_of_shares_resumes_to_the_same_model(tmp_path):
    pairs = copy_task(60)
    (tmp_path / "more.tsv").write_text(
        "".join(f"{a}\t{b}\n" for a, b in pairs[30:])
    )
    corpus = Corpus(pairs[:20], pairs[20:30], {}, "copy", "x", "x", {})
    corpus = corpus.with_extra(tmp_path / "more.tsv", 0.5)
    config = replace(
        RECIPES["copy"].train, steps=24, batch_tokens=64, checkpoint_every=4
    )
    recipe = replace(RECIPES["copy"], train=config, vocab_size=15)
    whole = train(tmp_path / "a", corpus, recipe, device="cpu")
    part = train(tmp_path / "b", corpus, recipe, device="cpu", max_minutes=0.0)
    train(part, corpus, recipe, device="cpu", resume=True)
    sums = [sha256(x / "model.safetensors") for x in (whole, part)]
    assert sums[0] == sums[1]
    less = replace(corpus, extras=(replace(corpus.extras[0], share=0.4),))
    with pytest.raises(UserError, match="began with the shares"):
        train(part, less, recipe, device="cpu", resume=True)
