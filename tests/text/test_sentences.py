"""Sentences of a line, and a translator that takes them one by one."""

import json
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from odd_text import odd_strings
from own_sentences import OWN
from tiny_models import make_translator

from annotated_transformer.data import train_tokenizer
from annotated_transformer.pairs.alignment import (
    align_pairs,
)
from annotated_transformer.pairs.back_translation import back_translate
from annotated_transformer.text.casing import in_title_case
from annotated_transformer.text.sentences import (
    ABBREVIATIONS,
    sentences,
    single_sentences,
)
from annotated_transformer.translation import Translation, Translator

ONE = ["A man walks.", "Two dogs run!", "Dr. Smith eats.", "TWO MEN TALK."]
TEXT = st.lists(st.sampled_from([*"aB.!? \xa0\t“”\u2028\x85\ud800"])).map(
    "".join
)


@cache
def translator() -> Translator:
    return Translator.load("multi30k-en-de")


@given(TEXT | st.text(), st.sampled_from(["en", "de", "fr", "letters", "it"]))
@example("A\xa0. B", "it")  # sentencex alone panics
def test_nothing_is_lost_and_one_sentence_stays(text, language):
    found = sentences(text, language)
    if len(found) == 1:
        assert found == [text]
    else:
        assert all(x == x.strip() != "" for x in found)
        kept = "".join(text.encode(errors="replace").decode().split())
        assert "".join("".join(found).split()) == kept
    assert sentences(text, "") == [text]


def test_odd_text_is_taken_apart_without_a_word():
    for text in odd_strings():
        assert sentences(text, "en")


@given(st.lists(st.sampled_from(ONE[:2]), min_size=1))
def test_sentences_come_back_in_their_order(parts):
    assert sentences(" ".join(parts), "en") == parts
    assert single_sentences(parts, "en") == 1
    both = single_sentences([*parts, " ".join(parts * 2)], "en")
    assert both == len(parts) / (len(parts) + 1)


@pytest.mark.parametrize("way", [str, str.upper, str.lower, in_title_case])
@pytest.mark.parametrize("language", ["en", "de"])
def test_sentences_are_found_however_they_are_typed(language, way):
    side = [way(pair[language == "de"]) for pair in OWN]
    for i in range(len(side) - 3):
        for number in (1, 2, 3):
            some = side[i : i + number]
            assert sentences(" ".join(some), language) == some


def test_sentencex_finds_the_same_but_in_german_without_capitals(monkeypatch):
    lines = [" ".join(side) for side in zip(*OWN, strict=True)]
    ours = [sentences(*x) for x in zip(lines, ("en", "de"), strict=True)]
    small = sentences(lines[1].lower(), "de")
    monkeypatch.delitem(ABBREVIATIONS, "en")
    monkeypatch.delitem(ABBREVIATIONS, "de")
    theirs = [sentences(*x) for x in zip(lines, ("en", "de"), strict=True)]
    assert ours == theirs and len(small) == len(OWN)
    assert len(sentences(lines[1].lower(), "de")) < len(OWN)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "A man walks. |two dogs run.|One eats"),
        ("en", '"Stop. |Go home!" he said. |Then he left ... and slept'),
        ("en", "Run!🙂 |a man 🙂 sleeps. 🙂☀ |Two dogs 🙂"),
        ("en", "We met at 5 p.m. |He wore hats, caps, etc. |No. 5 won. |No"),
        ("de", "Ein Mann. |„Und wer?“ |Am 3. Mai, z.B. er, usw. |Dann nicht"),
        ("fr", "« Où ? » |M. Dupont, p. 3, vit. |Oui"),
    ],
)
def test_where_sentences_end(language, text):
    parts = [x.strip() for x in text.split("|")]
    assert sentences(text.replace("|", ""), language) == parts


@pytest.mark.parametrize(
    "text", ["." * 99_999, ". " * 99_999, "a. " * 99_999, "Dr." * 99_999]
)
def test_a_line_of_marks_takes_no_time(text):
    assert sentences(f"{text}x", "en") == [f"{text}x"]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Dr. Smith and Mr. Jones play at 5 p.m. in St. Louis."),
        ("en", "She earned her Ph.D. in the U.S. 🙂 !!"),
        ("de", "Ein Mann arbeitet auf Höhe des 2. Stocks."),
        ("de", "Ein Hund, z. B. ein Dackel, rennt."),
        ("de", "Der Aufzug trägt max. 8 Personen."),
        ("fr", "M. Dupont lit un livre."),
        *(("en", text) for text in ("", " ", "...", "\t", "?!")),
    ],
)
def test_what_is_one_sentence_stays(language, text):
    assert sentences(text, language) == [text]


@settings(max_examples=10)
@given(st.lists(st.sampled_from([*ONE, " ", "x"]), max_size=6))
def test_text_without_several_sentences_passes_unchanged(texts):
    for number in (1, 3):
        found = translator().n_best(texts, number)
        assert found == translator().n_best(texts, number, split="")


def test_sentences_are_translated_one_by_one_and_joined():
    alone = [best[0] for best in translator().n_best(ONE, 1)]
    line, first = translator().n_best([" ".join(ONE), ONE[0]], 1)
    (both,) = line
    assert both.text == " ".join(one.text for one in alone)
    assert both.length == sum(one.length for one in alone)
    sums = sum(one.log_probability for one in alone)
    assert both.log_probability == pytest.approx(sums, abs=1e-3)
    assert both.confidence == pytest.approx(sums / both.length, abs=1e-4)
    texts = [x.text for x in alone]
    assert [(x, y.text) for x, y in both.parts] == [
        *zip(ONE, texts, strict=True)
    ]
    assert first[0].parts == ()


CHINESE = ["一个人走路。", "两只狗跑！", "有一个女孩。"]


@pytest.mark.parametrize(("into", "between"), [("zh", ""), ("de", " ")])
def test_translations_are_joined_as_their_language_is(into, between):
    pieces = train_tokenizer([*ONE, *CHINESE] * 4, 60, "char")
    model = make_translator(pieces)
    model.split, model.into = "en", into
    line = " ".join(ONE)
    ((whole, *_),) = model.n_best([line], 2)
    alone = [one.text for _, one in whole.parts]
    assert len(alone) == len(ONE)
    assert whole.text == between.join(alone).strip()
    assert back_translate(model, [line]) == [(whole.text, line)]
    (links,) = align_pairs(model, [(line, whole)])
    assert {j for _, j in links} == {*range(len(whole.text.split()))}


def test_links_count_the_words_that_a_blank_separates():
    """Of three Chinese sentences, in which way ever they are given."""
    pieces = train_tokenizer([*ONE, *CHINESE] * 4, 60, "char")
    model = make_translator(pieces)
    model.split, model.into = "en", "zh"
    line = " ".join(ONE[:3])
    each = [
        align_pairs(model, [pair])[0]
        for pair in zip(ONE[:3], CHINESE, strict=True)
    ]
    for between, numbers in (("", (0, 0, 0)), (" ", (0, 1, 2))):
        (links,) = align_pairs(model, [(line, between.join(CHINESE))])
        starts = zip((0, 3, 6), numbers, each, strict=True)
        assert links == [
            (before + i, after)
            for before, after, some in starts
            for i, _ in some
        ]
    model.split, model.into = "zh", "en"
    for between, most in (("", 0), (" ", 2)):
        (links,) = align_pairs(model, [(between.join(CHINESE), line)])
        assert {i for i, _ in links} == {*range(most + 1)}
        assert [j for _, j in links] == [*range(len(line.split()))]


def test_a_sentence_that_is_joined_again_is_as_it_was():
    for first in ("选 A.好。", "选 A. 好。", "在 2.楼。"):
        assert sentences(f"{first}我在。", "zh") == [first, "我在。"]


def test_the_best_combinations_are_found():
    """All of them, counted one by one."""
    first, second = translator().n_best(ONE[:2], 4)
    every = sorted(x.score + y.score for x in first for y in second)[::-1]
    (found,) = translator().n_best([" ".join(ONE[:2])], 4)
    scores = [one.score for one in found]
    assert scores == pytest.approx(every[:4], abs=1e-4)
    assert len({one.text for one in found}) == 4


def test_links_count_words_through_the_line():
    line, model = " ".join(ONE[:2]), translator()
    ((one,),) = model.n_best([line], 1)
    given = [(line, one), (ONE[0], Translation("Ein Mann.", 0.0, 0.0, 1))]
    links, alone = align_pairs(model, given)
    pairs = [(source, found.text) for source, found in one.parts]
    first, second = align_pairs(model, pairs)
    words = len(pairs[0][1].split())
    assert links == first + [(i + 3, j + words) for i, j in second]
    assert alone == align_pairs(model, [(ONE[0], "Ein Mann.")])[0]


def test_what_is_scored_is_not_split(command, tmp_path):
    line = "A man walks. A dog runs. A girl sings. A boy eats."
    whole = translator()(line, split="")
    assert whole != translator()(line)
    files = [tmp_path / name for name in ("source", "reference")]
    for file, text in zip(files, (line, whole), strict=True):
        file.write_text(f"{text}\n")
    ended = command("evaluate", "multi30k-en-de", *files, "--json")
    assert json.loads(ended.out)["bleu"] == pytest.approx(100)
