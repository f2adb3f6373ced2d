"""A corpus of your own files, and of the built-in grammar."""

import gzip

import pytest
from test_parallel_text import write

from annotated_transformer.corpora.builtin import example_splits
from annotated_transformer.corpora.corpus import Corpus, Extra
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.corpora.large_text import pairs_sha256
from annotated_transformer.corpora.parallel_text import read_parallel
from annotated_transformer.errors import UserError
from annotated_transformer.system.atomic_files import sha256


def test_two_files_and_a_table_give_the_same_corpus(tmp_path):
    source = write(tmp_path / "t.en", "a b\nc\n")
    target = write(tmp_path / "t.de.gz", gzip.compress("Ä\r\nC".encode()))
    table = write(tmp_path / "t.tsv", "a b\tÄ\nc\tC\n")
    pairs = [("a b", "Ä"), ("c", "C")]
    assert read_parallel([source, target]) == pairs
    assert read_parallel([table]) == pairs
    for paths in ([], [table] * 3):
        with pytest.raises(UserError, match=f"{len(paths)} files given"):
            read_parallel(paths)
    corpus = Corpus.from_files([source, target], [table], "en", "de")
    assert corpus.train == corpus.valid == pairs
    # the sum is one that a reader can make: `sha256sum` of the table
    assert sha256(table) == pairs_sha256(pairs)
    assert set(corpus.checksums.values()) == {sha256(table)}


def test_a_corpus_of_pairs_is_that_of_their_file(tmp_path):
    """As are languages, en and de if none are named."""
    pairs = [["a b", "Ä"], ("c", "\u2028C")]
    table = write(tmp_path / "t.tsv", "a b\tÄ\nc\t\u2028C\n")
    corpus = Corpus.from_pairs(iter(pairs), iter(pairs[:1]))
    assert corpus.train == [("a b", "Ä"), ("c", "\u2028C")]
    assert corpus.valid == corpus.train[:1] and corpus.tests == {}
    read = Corpus.from_files([table], [table], "en", "de")
    assert corpus.train == read.train
    assert corpus.checksums["train"] == read.checksums["train"]
    assert (corpus.source, corpus.target) == (read.source, read.target)
    for wrong, told in [
        ([("a", "b"), ("a", " ")], "train, pair 1: a side is blank"),
        ([("a", "\ud83d")], "train, pair 0: .* half of a character"),
        ([("a", "b", "c")], "pair 0 is .*; a pair is two strings"),
        (["ab"], "pair 0 is 'ab'"),
    ]:
        with pytest.raises(UserError, match=told):
            Corpus.from_pairs(iter(wrong), iter(pairs))


def test_extra_pairs_are_trained_on_and_nothing_else(tmp_path):
    corpus = builtin_corpus(train=20, valid=5, test=4)
    table = write(tmp_path / "t.tsv", "a b\tÄ\nc\tC\n")
    more = corpus.with_extra(table)
    assert more.train == [*corpus.train, ("a b", "Ä"), ("c", "C")]
    assert (corpus.extras, more.extras) == ((), (Extra(str(table), 2),))
    assert (more.valid, more.tests) == (corpus.valid, corpus.tests)
    assert more.checksums == corpus.checksums | {"extra": sha256(table)}
    again = more.with_extra(table, share=0.25)
    assert again.train == [*more.train, *more.train[-2:]]
    assert again.extras[1] == Extra(str(table), 2, 0.25)
    assert again.checksums == more.checksums | {"extra 2": sha256(table)}
    assert (more.shares, again.shares) == ({}, {"extra 2": 0.25})


@pytest.mark.parametrize("share", [0.0, 1.0, float("nan")])
def test_a_share_is_a_part_of_an_epoch(share, tmp_path):
    corpus = builtin_corpus(train=20, valid=5, test=4)
    table = write(tmp_path / "t.tsv", "a b\tÄ\n")
    with pytest.raises(UserError, match=f"shares of {share}: .* above 0"):
        corpus.with_extra(table, share)
    half = corpus.with_extra(table, 0.5)
    with pytest.raises(UserError, match="shares of 0.5, 0.5: .* below 1"):
        half.with_extra(table, 0.5)


def test_builtin_corpus_is_the_grammar_with_its_sums():
    corpus = builtin_corpus(train=20, valid=5, test=4, seed=1)
    train, valid, test = example_splits(train=20, valid=5, test=4, seed=1)
    assert corpus.train == [(x.source, x.target) for x in train]
    assert corpus.valid == [(x.source, x.target) for x in valid]
    assert corpus.tests == {"test": [(x.source, x.target) for x in test]}
    assert corpus.checksums["train"] == pairs_sha256(corpus.train)
    other = builtin_corpus(train=20, valid=5, test=4, seed=2)
    assert not set(corpus.checksums.values()) & set(other.checksums.values())
