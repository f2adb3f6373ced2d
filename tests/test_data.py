"""Data: text comes back, nothing is lost, batches keep their budget."""

import random
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from multiprocessing import get_context

import numpy as np
import pytest
import torch
from builtin_text import BPE, LINES, PAIRS
from hypothesis import given, settings
from hypothesis import strategies as st
from operations import counted

from annotated_transformer.data import (
    ORDERS,
    BPEDropout,
    Ragged,
    bucket,
    copy_task,
    encode_pairs,
    make_batch,
    pad,
    train_tokenizer,
    training_batches,
)
from annotated_transformer.embedding import BOS, EOS, PAD, UNK
from annotated_transformer.errors import UserError

UNIGRAM = train_tokenizer(LINES, 300, "unigram")
CHAR = train_tokenizer(LINES, 300, "char")
# Sentencepiece's own: NUL, a separator, its signs for space and unknown.
RESERVED = "\0\x1f\u2581\u2585"
NO_LINE = RESERVED + "<\n\r"  # what ends a line is not part of it

each_kind = pytest.mark.parametrize(
    "tokenizer", [BPE, UNIGRAM, CHAR], ids=["bpe", "unigram", "char"]
)
sides = st.integers(1, 20)
# of pairs, or of texts without targets
lengths_lists = st.lists(st.tuples(sides, sides), max_size=60) | st.lists(
    st.tuples(sides), max_size=60
)


# Tokenizers


@each_kind
@given(text=st.text(sorted(set().union(*LINES) | {" "}), max_size=40))
def test_text_of_known_characters_comes_back(tokenizer, text):
    """With single spaces, and none at the ends."""
    ids = tokenizer.encode(text)
    assert ids[-1] == EOS and UNK not in ids
    assert tokenizer.decode(ids) == " ".join(text.split())


@given(
    st.lists(
        st.text(
            st.characters(codec="utf-8", exclude_characters=NO_LINE),
            min_size=1,
            max_size=20,
        ).filter(lambda text: text.strip(" ")),
        min_size=1,
        max_size=5,
    )
)
def test_any_training_text_comes_back(lines):
    """If asked for: tabs, spaces, emoji, accents in either form, all of it."""
    tokenizer = train_tokenizer(lines, 1000, "char", normalize=False)
    assert [tokenizer.decode(tokenizer.encode(x)) for x in lines] == lines


def test_reserved_ids_are_those_of_the_embedding():
    names = [BPE.pieces.id_to_piece(i) for i in range(4)]
    assert names == ["<pad>", "<s>", "</s>", "<unk>"]
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)


@each_kind
def test_text_cannot_write_a_reserved_token(tokenizer):
    for name in ("<pad>", "<s>", "</s>"):
        ids = tokenizer.encode(f"a {name} b")[:-1]
        assert not {PAD, BOS, EOS} & set(ids)


@each_kind
def test_unknown_characters_become_unk(tokenizer):
    ids = tokenizer.encode("The 猫 sleeps.")
    assert ids.count(UNK) == 1
    known = tokenizer.decode([i for i in ids if i != UNK])
    assert known == "The  sleeps."
    assert "⁇" in tokenizer.decode(ids)


def test_decoding_stops_at_the_first_eos_and_skips_pad_and_bos():
    ids = BPE.encode("The cat sleeps.")
    assert BPE.decode([BOS, *ids, *BPE.encode("More."), PAD]) == (
        "The cat sleeps."
    )
    assert BPE.decode(ids[:-1]) == "The cat sleeps."
    assert BPE.decode([]) == BPE.decode([EOS]) == ""
    assert BPE.encode("") == [EOS]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_vocabulary_too_large_says_the_largest(kind, capfd):
    with pytest.raises(UserError) as caught:
        train_tokenizer(LINES, 1_000_000, kind)
    message = str(caught.value)
    assert "1000000 subwords" in message and "sentencepiece" not in message
    largest = int(re.search(r"possible is (\d+)", message)[1])
    assert len(train_tokenizer(LINES, largest, kind)) == largest
    with pytest.raises(UserError, match=f"possible is {largest};"):
        train_tokenizer(LINES, largest + 1, kind)
    fewer = train_tokenizer(LINES, 1_000_000, kind, exact=False)
    assert fewer.model == train_tokenizer(LINES, largest, kind).model
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", ["bpe", "char"])
def test_vocabulary_too_small_says_the_smallest(kind, capfd):
    smallest = 5 + len(set().union(*LINES) - {" "})
    with pytest.raises(UserError, match=f"at least {smallest}$"):
        train_tokenizer(LINES, smallest - 1, kind)
    tokenizer = train_tokenizer(LINES, smallest, kind)
    assert not any(UNK in tokenizer.encode(line) for line in LINES)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "lines", [[], [""], ["", "   "], ["\r"], ["\r\n", " \0"]]
)
def test_no_text_is_refused(lines, capfd):
    with pytest.raises(UserError, match="no text"):
        train_tokenizer(lines, 100)
    assert capfd.readouterr() == ("", "")


# Pairs


@given(
    seed=st.integers(0, 99),
    size=st.integers(0, 200),
    longest=st.integers(3, 9),
)
def test_copy_task_is_distinct_and_deterministic(seed, size, longest):
    pairs = copy_task(size, seed, "abcdef", (3, longest))
    with pytest.raises(UserError, match="14"):  # so many there are
        copy_task(15, letters="ab", lengths=(1, 3))
    assert pairs == copy_task(size, seed, "abcdef", (3, longest))
    assert len(set(pairs)) == len(pairs) == size
    assert size < 9 or pairs != copy_task(
        size, seed + 1, "abcdef", (3, longest)
    )
    for source, target in pairs:
        assert source == target
        assert 3 <= len(source) <= longest and set(source) <= set("abcdef")


@pytest.mark.parametrize("lengths", [(10, 3), (0, 3), (-2, -1)])
def test_lengths_that_no_string_has_are_refused(lengths):
    for size in (0, 5):
        told = rf"lengths\[0\]={lengths[0]}`: must be from 1 to {lengths[1]}"
        with pytest.raises(UserError, match=told):
            copy_task(size, lengths=lengths)


def test_over_long_pairs_are_left_out_and_reported_by_place():
    pairs = [("a", "b"), ("a" * 9, "b"), ("a", "b" * 9), ("c", "d")]
    characters = train_tokenizer(["abcd"], 9, "char")
    # nine letters are eleven tokens: the space before them and EOS count
    examples, too_long = encode_pairs(pairs, characters, max_length=10)
    assert too_long == [1, 2]
    assert [tuple(map(characters.decode, e)) for e in examples] == [
        ("a", "b"),
        ("c", "d"),
    ]
    examples, too_long = encode_pairs(pairs, characters, max_length=11)
    assert len(examples) == 4 and too_long == []


# Batches


examples_lists = st.lists(
    st.tuples(
        *[
            st.lists(st.integers(UNK, 50), max_size=8).map(lambda x: [*x, EOS])
            for _ in range(2)
        ]
    ),
    min_size=1,
    max_size=9,
)


@given(examples_lists)
def test_inputs_are_labels_shifted_by_one(examples):
    """In a batch, and in one with each sentence two times."""
    once = make_batch(examples)
    for batch, rows in ((once, examples), (once.duplicated(), 2 * examples)):
        check_batch(batch, rows)


def check_batch(batch, examples):
    assert batch.tokens == sum(len(target) for _, target in examples)
    assert torch.equal(batch.labels[batch.where], batch.targets)
    flat = batch.where.flatten().tolist()
    assert batch.places.tolist() == [i for i, it in enumerate(flat) if it]
    for row, (source, target) in enumerate(examples):
        n = len(target)
        assert batch.source[row, : len(source)].tolist() == source
        assert batch.labels[row, :n].tolist() == target
        assert batch.inputs[row, :n].tolist() == [BOS, *target[:-1]]
        assert (batch.source[row, len(source) :] == PAD).all()
        assert (batch.inputs[row, n:] == PAD).all()
        assert (batch.labels[row, n:] == PAD).all()
        assert batch.where[row].tolist() == [
            column < n for column in range(batch.labels.size(1))
        ]


def by_loop(rows):
    """Rows filled up one by one."""
    longest = max(map(len, rows))
    return [row + [PAD] * (longest - len(row)) for row in rows]


rows_lists = st.lists(
    st.lists(st.integers(0, 50), min_size=1, max_size=9), min_size=1
)


@given(rows_lists, st.data())
def test_rows_of_flat_arrays_are_those_of_the_plain_loop(rows, data):
    """Whichever are asked for, in whatever order, some of them twice."""
    assert pad(rows).tolist() == by_loop(rows)
    some = st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=9)
    places = data.draw(some)
    found = Ragged.of(rows).matrix(places)
    assert found.tolist() == by_loop([rows[place] for place in places])
    assert found.dtype == torch.long


def test_a_batch_takes_as_many_calls_whatever_is_in_it():
    """So one made of a hundred sentences costs hardly more than of one."""
    numbers = set()
    for n in (1, 7, 60):
        with counted() as seen:
            make_batch(EXAMPLES[:n])
        numbers.add(seen.calls.total())
    assert len(numbers) == 1 and numbers.pop() < 50
    batches = training_batches(EXAMPLES, 256, 0)
    first = next(batches)  # the flat arrays are made with it
    rows, numbers = {len(first.source)}, set()
    for _ in range(30):
        with counted() as seen:
            rows.add(len(next(batches).source))
        numbers.add(seen.calls.total())
    assert len(rows) > 3
    assert len(numbers) == 1 and numbers.pop() < 50


KEYS = {
    "target": lambda lengths: lengths[::-1],
    "longest": lambda lengths: (max(lengths), *lengths[::-1]),
}


def bucket_by_loop(lengths, max_tokens, seed, order):
    """Batches made pair by pair, from lists."""
    rng, places = random.Random(seed), [*range(len(lengths))]
    rng.shuffle(places)
    batches = []
    for place in sorted(places, key=lambda i: KEYS[order](lengths[i])):
        more = [*batches[-1], place] if batches else []
        if more and max(max(lengths[i]) for i in more) * len(more) <= (
            max_tokens
        ):
            batches[-1] = more
        else:
            batches.append([place])
    rng.shuffle(batches)
    return batches


@pytest.mark.parametrize("order", ORDERS)
@given(lengths_lists, st.integers(5, 200), st.integers(0, 9))
def test_batches_are_full_of_neighbours_in_length(
    order, lengths, max_tokens, seed
):
    """Every place is in one; what is over the budget is alone in its own."""
    random.seed(seed)  # the global generator must not matter
    batches = bucket(lengths, max_tokens, str(seed), order)
    again = bucket(np.array(lengths), max_tokens, str(seed), order)
    found = [batch.tolist() for batch in batches]
    assert found == [batch.tolist() for batch in again]
    assert Counter(chain(*found)) == Counter(range(len(lengths)))
    assert found == bucket_by_loop(lengths, max_tokens, str(seed), order)


EXAMPLES, _ = encode_pairs(PAIRS[:60], BPE, max_length=100)


def same(a, b) -> bool:
    return (
        torch.equal(a.source, b.source)
        and torch.equal(a.inputs, b.inputs)
        and torch.equal(a.labels, b.labels)
    )


@given(st.integers(0, 30), st.integers(0, 5))
def test_skip_equals_dropping_the_first(skip, seed):
    """Across epochs too: 60 examples make about ten batches here."""
    whole = list(islice(training_batches(EXAMPLES, 256, seed), skip + 3))
    resumed = islice(training_batches(EXAMPLES, 256, seed, skip), 3)
    assert all(map(same, whole[skip:], resumed))


def test_every_epoch_has_every_pair_once_in_an_order_of_its_own():
    lengths = [(len(source), len(target)) for source, target in EXAMPLES]
    batches = training_batches(EXAMPLES, 256, seed=3)
    wanted = Counter(tuple(target) for _, target in EXAMPLES)
    orders = []
    for epoch in range(3):
        number = len(bucket(lengths, 256, f"3 {epoch}"))
        rows = [
            tuple(row[row != PAD].tolist())
            for batch in islice(batches, number)
            for row in batch.labels
        ]
        assert Counter(rows) == wanted
        orders.append(rows)
    assert orders[0] != orders[1] != orders[2]


def test_no_examples_are_refused_instead_of_waited_for():
    with pytest.raises(UserError, match="no sentence pair"):
        next(training_batches([], 256, seed=0))


def dropped(texts, dropout, seed="0", max_length=256, tokenizer=BPE):
    """The subwords of each text, and of its copy on the other side."""
    examples, _ = encode_pairs([(x, x) for x in texts], tokenizer, 256)
    change = BPEDropout(tokenizer.vocabulary, dropout, max_length)
    change.ways = 10**6  # of cutting a word: none comes twice
    return change(examples, seed)


known = st.text(sorted(set().union(*LINES)), max_size=40)
texts_lists = st.lists(known | st.just("a dog Ж"), max_size=5)


@settings(max_examples=60)
@given(texts_lists, st.floats(0, 1), st.integers(0, 9), st.integers(1, 60))
def test_other_subwords_are_the_same_text(texts, dropout, seed, limit):
    """Or the usual ones, where one is unknown or the others are too many."""
    found = dropped(texts, dropout, str(seed), limit)
    for text, sides in zip(texts, found, strict=True):
        usual = BPE.encode(text)
        for ids in sides:
            assert BPE.decode(ids) == BPE.decode(usual)
            if ids != usual:
                assert dropout > 0 and UNK not in usual
                assert len(ids) <= limit


def test_every_merge_is_left_out_as_often_as_asked():
    """Two merges that do not touch: each is made or not by itself."""
    tokenizer = train_tokenizer(["ab", "cd"] * 9, 11)
    assert {"ab", "cd"} < {*tokenizer.vocabulary}
    found = Counter(
        (tokenizer.split("abcd")[1:] == ["ab", "cd"], len(ids))
        for side in dropped(["abcd"] * 4000, 0.3, tokenizer=tokenizer)
        for ids in side
    )
    assert {made for made, _ in found} == {True}
    # ▁ and EOS come on top: both merges, one of them, none; after the first
    # the other is drawn again
    some = 1 - 0.3**2
    expected = {4: some * 0.7, 5: some * 0.3, 6: 0.3**2}
    for (_, length), number in found.items():
        assert number / 8000 == pytest.approx(expected[length], abs=0.02)


def test_other_subwords_follow_from_the_seed_alone():
    """Whatever was drawn before, by whom, in which thread or process."""
    before = torch.get_rng_state()
    first = dropped(LINES, 0.2, "1")
    assert first != dropped(LINES, 0.2, "2")
    with get_context("spawn").Pool(1) as process:
        assert process.apply(dropped, (LINES, 0.2, "1")) == first
    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(dropped, LINES, 0.2, "1").result() == first
    assert torch.get_rng_state().equal(before)
    assert dropped(LINES, 0.0) == dropped(LINES, 0.0, max_length=1)

    def batches(skip):
        change = BPEDropout(BPE.vocabulary, 0.2, 256)
        return training_batches(EXAMPLES, 128, 0, skip, resplit=change)

    assert all(map(same, [*islice(batches(0), 25)][20:], batches(20)))


def test_a_vocabulary_of_words_knows_these_and_no_others():
    lines = ["(A the dog )A", "(A a cat )A"]
    words = {word for line in lines for word in line.split()}
    tokenizer = train_tokenizer(lines, 4 + len(words), "word")
    assert {*tokenizer.vocabulary[4:]} == {f"▁{word}" for word in words}
    assert tokenizer.encode("the dogs cat")[1] == UNK
    for line in lines:
        assert len(tokenizer.encode(line)) == 5
        assert tokenizer.decode(tokenizer.encode(line)) == line
