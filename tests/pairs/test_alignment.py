"""Alignments, against links by hand, a plain loop and split text."""

import re

import chapters
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiny_models import make_translator

from annotated_transformer import Translator
from annotated_transformer.data import train_tokenizer
from annotated_transformer.pairs.alignment import (
    align_pairs,
    first_words,
)
from annotated_transformer.text.emphasis import members
from annotated_transformer.text.reading import Reader

LINES = ["a dog runs on the beach", "ein Hund rennt am Strand", "two  dogs."]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(LINES, 40)


letters = st.text(st.sampled_from("adgH.語  \t\u2028\x85"), max_size=20)


def split(text):
    return text.split()  # whatever blank it is, to the tokenizer a space


@given(letters)
@settings(deadline=None)
def test_words_are_what_spaces_separate(tokenizer, text):
    pieces = tokenizer.split(text)
    found = members(pieces)
    assert found.shape == (len(split(text)), len(pieces))
    assert (found.sum(0) <= 1).all()
    for row, word in zip(found, split(text), strict=True):
        mine = [p for p, part in zip(pieces, row, strict=True) if part]
        assert "".join(mine).lstrip("▁") == word


def plainly(translator, source, target):
    """Sum the weights of pieces, one by one, each over a root."""
    maps, columns, rows = translator.attention(source, target)
    weights = maps.cross[-2:][0][0].mean(0)
    received = [
        sum(weights[row, column].item() for row in range(len(rows) - 1))
        for column in range(len(columns))
    ]

    def words(pieces):
        starts = [piece.startswith("▁") for piece in pieces[:-1]]
        numbers = [sum(starts[: i + 1]) - 1 for i in range(len(starts))]
        return [
            None if piece == "▁" else number
            for piece, number in zip(pieces, numbers, strict=False)
        ]

    links = []
    for j in range(len(target.split())):
        total = [0.0] * len(source.split())
        for row, word in enumerate(words(rows)):
            for column, other in enumerate(words(columns)):
                if word == j and other is not None:
                    weight = weights[row, column].item()
                    total[other] += weight / received[column] ** 0.5
        links.append((total.index(max(total)), j))
    return links


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_links_are_those_of_a_plain_loop(tokenizer, layers):
    translator = make_translator(tokenizer, layers=layers)
    pairs = [(a.replace("  ", " "), b) for a in LINES for b in LINES[:2]]
    together = align_pairs(translator, iter(pairs), batch_tokens=60)
    assert together == [plainly(translator, *pair) for pair in pairs]
    with pytest.raises(ValueError, match="batch_tokens=0"):
        align_pairs(translator, [], batch_tokens=0)


@given(st.lists(st.tuples(letters, letters), max_size=6), st.integers(1, 60))
@settings(max_examples=12)
@example([(".", ".")], 1)
def test_each_word_has_a_link_whatever_the_batch(tokenizer, pairs, size):
    """But in what goes through, which no model has written."""
    translator = make_translator(tokenizer)
    for (source, target), links in zip(
        pairs, align_pairs(translator, pairs, batch_tokens=size), strict=True
    ):
        linked = split(source) and translator.reader.pair(source, target)
        wanted = range(len(split(target)) if linked else 0)
        assert [j for _, j in links] == list(wanted)
        assert all(0 <= i < len(split(source)) for i, _ in links)


def test_an_output_as_long_as_positions_go(tokenizer):
    learned = {"positions": "learned", "max_length": 8}
    translator = make_translator(tokenizer, **learned)
    for target in ("d d d d", "d d d d d d d d d"):  # 8 pieces, and 18
        (links,) = align_pairs(translator, [("a", target)])
        assert links[:4] == [(0, j) for j in range(4)]


@given(
    st.lists(st.sampled_from(["a dog. ", "A d。", "Hund ran! ", "🙂 ", "！"])),
    st.sampled_from(["en", "zh", ""]),
)
def test_parts_begin_in_their_words(tokenizer, pieces, language):
    """Whether a blank is before them or not, and some have no word."""
    line = "".join(pieces)
    parts = Reader(tokenizer, language).line(line).parts
    read = [part for part in parts if not part.blank]
    numbers = first_words(line, read)
    assert numbers == sorted(numbers) and len(numbers) == len(read)
    for number, part in zip(numbers, read, strict=True):
        first = part.sentence.split()[0]
        assert first[0] in line.split()[number], (line, part)


def captions():
    """Captions and links by hand, in words with their punctuation."""
    path = chapters.BOOK / "data" / "linked_captions.txt"
    text = path.read_text("utf-8")

    def words(line):
        """The words with their punctuation that words and stops are in."""
        cut = [re.findall(r"\w+|[^\w\s]", word) for word in line.split()]
        return [i for i, parts in enumerate(cut) for _ in parts]

    for block in text.strip().split("\n\n"):
        english, german, numbers = block.split("\n")
        columns, rows = words(english), words(german)
        yield (
            (english, german),
            {
                (columns[int(i) - 1], rows[j])
                for j, each in enumerate(numbers.split())
                for i in each.split("+")
                if i != "0"
            },
        )


@pytest.mark.parametrize("name", ["multi30k-en-de", "multi30k-de-en"])
def test_words_that_people_have_linked(name):
    """Far better than a diagonal, which is better than half right here."""
    step = 1 if name.endswith("en-de") else -1
    gold = list(captions())
    assert len(gold) > 30
    found = align_pairs(Translator.load(name), [p[::step] for p, _ in gold])
    hits, diagonal = [], []
    for (pair, links), ours in zip(gold, found, strict=True):
        n, m = (len(text.split()) for text in pair[::step])
        hits += [link[::step] in links for link in ours]
        diagonal += [
            (int((j + 0.5) * n / m), j)[::step] in links for j in range(m)
        ]
    assert len(hits) == len(diagonal)
    right, luck = (sum(each) / len(each) for each in (hits, diagonal))
    assert right > 0.7 and right > luck + 0.1


# The command


def test_the_page_shows_what_it_tells(command):
    page = (chapters.BOOK / "toolkit_train.md").read_text("utf-8")
    words = (
        r'echo "(.*)" \\\n *\| annotated-transformer (.*--alignment)\n(.*\n)'
    )
    text, called, told = re.search(words, page).groups()
    ended = command(*called.split(), stdin=f"{text}\n".encode())
    assert ended.out == told
