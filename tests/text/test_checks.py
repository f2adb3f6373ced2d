"""What a line may have that a translator was not made for."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_text import visible

from annotated_transformer.data import train_tokenizer
from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.text.checks import (
    Known,
    doubts,
    on_other_side,
    small_words,
    subwords_per_word,
)
from annotated_transformer.text.reading import Reader
from annotated_transformer.text.watch import NAMED, Watch
from annotated_transformer.translation import Translation, Translator

NAME, BACK = "multi30k-en-de", "multi30k-de-en"
CHINESE = "一个男人在街上走。"
CAPTIONS = ["A man walks.", "TWO DOGS RUN.", "", "A girl in a red coat sings."]
SURE = Translation("Ein Mann.", -1.0, -1.0, 10)
KNOWN = Known(longest=402, subwords=1.667, confidence=-0.5)


@cache
def translator() -> Translator:
    return Translator.load(NAME)


def doubted(line, one=SURE, **changes):
    """What is said of a line and its translation."""
    one = replace(one, **changes)
    reading = translator().reader.line(line)
    return doubts(reading, one.text, one.confidence, one.cut, KNOWN)


@pytest.mark.parametrize(
    ("line", "changes", "told"),
    [
        ("A man.\tEin Mann.", {}, "there is a tab"),
        ("00:01:02,000 --> 00:01:05,000", {"text": "01:02 000"}, "timecode"),
        (
            "A man " + "in a coat " * 50,
            {},
            "with 50. .* than all .*402 at",
        ),
        ("A 😀 man.", {}, "never seen 😀, "),
        ("A дом stands.", {}, "never seen дом, "),
        ("A дом.", {}, "^not translated, .*seen it: дом.$"),
        ("A man.", {"text": ""}, "is empty"),
        ("A man.", {"finished": False}, "cut off after 10 tokens"),
        ("50 men.", {}, "^not in its translation: 50$"),
        ("A man.", {"log_probability": -9.0}, r"unsure .*-0.90.* -0.50"),
    ],
)
def test_what_is_doubtful_is_said(line, changes, told):
    found = [x for x in doubted(line, **changes) if re.search(told, x)]
    assert len(found) == 1


def test_usual_lines_are_not_doubted():
    for line in CAPTIONS:
        assert not doubted(line, text=line)
    assert not doubted("A dog, 09 May.", text="Ein Hund, 9. Mai.")
    assert doubted("A dog, 1.05 m.", text="Ein Hund, 1,5 m.")
    paragraph = " ".join(CAPTIONS[:2] * 30)  # each of its sentences is short
    assert not doubted(paragraph)


def test_a_translation_knows_what_is_doubtful():
    odd, usual, blank = translator().n_best(
        ["A dog 😀 runs.", "A dog runs.", " "], 2
    )
    assert all("😀" in one.warnings[0] for one in odd)
    assert usual[0].warnings == blank[0].warnings == ()


KEPT = ["https://a.org/b", "ann@a.org", "www.a.org", "@ann", "#dog", "4711"]


@given(st.lists(st.sampled_from(["a", "dog", *KEPT]), min_size=2), st.data())
def test_what_belongs_into_a_translation_as_it_stands(words, data):
    """Wherever it is in a line; what a translation has is not missed."""
    line, kept = " ".join(words), [x for x in words if x in KEPT]
    there = data.draw(st.sets(st.sampled_from(kept)) if kept else st.just([]))
    told = [
        x.removeprefix("not in its translation: ").split(", ")
        for x in doubted(f"({line}.)", text=" ".join(there))
        if x.startswith("not in its translation")
    ]
    missing = {*kept} - {*there}
    assert [{*x} for x in told] == ([missing] if missing else [])


@pytest.mark.parametrize(
    "line",
    ["A dog runs. 😀", "👩\u200d🚒", "<i>A dog runs.</i>", "https://a.org/b"],
)
def test_what_goes_through_is_not_doubted(line):
    one = translator().n_best([line], 1)[0][0]
    assert visible(line[-1]) in one.text and not one.warnings


def test_a_tag_within_a_line_and_long_lists():
    assert "not in its translation: <b>, </b>" in doubted("A <b>big</b> dog.")
    numbers_ = " men, ".join(map(str, range(100, 120)))
    assert "109 and 10 more" in " ".join(doubted(numbers_, text="-"))


def test_of_words_those_are_named_that_are_not_in_the_vocabulary():
    """Letters are none of a tokenizer of words, but it has "a" as a word."""
    words = train_tokenizer(["a dog sees a cat"] * 9, 8, "word")
    reader = Reader(words)
    for line, read, unknown, untranslated in (
        ("a dog sees a Zebra", "a dog sees a", [], ["Zebra"]),
        ("a dog saw a cat", "a dog saw a cat", ["saw"], []),
        ("The dog sees a cat.", "dog sees a", [], ["The", "cat."]),
        ("THE", "", [], ["THE"]),
    ):
        part = reader.part(line)
        assert part.sentence == read
        assert [*part.unknown] == unknown
        assert part.untranslated == untranslated


@given(st.lists(st.booleans(), max_size=3 * NAMED))
def test_ten_lines_are_named_and_the_others_counted(doubtful):
    told: list[str] = []
    watch = Watch("file", translator(), told.append)
    lines = ["A man walks."] * len(doubtful)
    for i in range(0, len(lines), 4):
        given = [SURE if not x else BAD for x in doubtful[i : i + 4]]
        watch.look(lines[i : i + 4], given)
    watch.sum_up()
    numbers_ = [i for i, x in enumerate(doubtful, 1) if x]
    named = numbers_[:NAMED]
    assert told[: len(named)] == [
        f"warning: file, line {i}: why; not" for i in named
    ]
    more = len(numbers_) - len(named)
    assert told[len(named) :] == (
        [f"warning: file: {more} more lines are doubtful"] if more else []
    )


BAD = replace(SURE, warnings=("why", "not"))


def test_more_than_half_of_a_file():
    low = replace(SURE, log_probability=-9.0)
    lines = ["A man walks.", "\u200b", CHINESE, CHINESE]
    told: list[str] = []
    for more in ((), ("A dog.",)):
        watch = Watch("file", translator(), told.append)
        watch.look(
            [*lines, *more], [low, SURE, SURE, low, SURE][: 4 + len(more)]
        )
        watch.sum_up()
    fit, unsure = told
    assert "file: in 2 of 3 lines, the model's subwords hardly" in fit
    assert "file: in 2 of 3 lines, the model is unsure" in unsure


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("3,500 balloons", "350-Trikots", False),
        ("3,500 balloons", "3.500 Ballons", True),
        ("1,234,567 men", "1 234 567 hommes", True),
        ("on 12/05/2020", "am 12.05.2020", True),
        ("the year 2010", "das Jahr 2001", False),
        ("24.5 metres", "24,5 Meter", True),
        ("2 men", "Zwei Männer", True),
        ("number 44", "Nummer 4", False),
        ("number 44", "Nummer 440", False),
        ("see (www.a.org).", "siehe www.a.org", True),
        ("see www.a.org", "siehe www.a.org/b", False),
    ],
)
def test_what_is_kept_or_lost(source, target, kept):
    told = doubted(source, text=target)
    assert bool(told) != kept


def test_subwords_show_another_language():
    tokenizer = translator().tokenizer
    most = read_config(NAME).history.data.lines.subwords
    french = "Deux jeunes filles regardent des oiseaux près d'une église."
    for text, fits in {
        CAPTIONS[0]: True,
        CAPTIONS[3]: True,
        french: False,
        CHINESE: False,
    }.items():
        assert (subwords_per_word(text, tokenizer) <= most) == fits
    assert subwords_per_word(" ...", tokenizer) == 0


# The commands


def test_warnings_change_neither_output_nor_status(command):
    german = ["Ein Mann läuft eine Straße entlang."] * 3
    text = "".join(f"{line}\n" for line in german).encode()
    ended = command("translate", NAME, stdin=text)
    expected = "".join(f"{x}\n" for x in translator()(german))
    assert ended[:2] == (0, expected)
    assert "standard input: in 3 of 3 lines, the model is uns" in ended.err
    assert command("translate", NAME, "--quiet", stdin=text).err == ""
    as_json = command("translate", NAME, "--json", stdin=text)
    rows = [json.loads(line) for line in as_json.out.splitlines()]
    assert [row["text"] for row in rows] == expected.splitlines()
    assert all(row["warnings"] and row["finished"] for row in rows)
    ended = command("translate", NAME, stdin=b"A dog runs. A man sits.\n")
    assert ended == (0, ended.out, "")
    whole = command("translate", NAME, "--no-split", stdin=b"A. B. C.\n")
    assert whole.out == translator()("A. B. C.", split="") + "\n"


def test_words_without_a_counterpart_are_noticed(command):
    """The model is as sure as ever of the rest."""
    texts = [
        "A group of children sits on the floor and listens to a teacher.",
        "An old woman with a red umbrella is waiting for the bus in the rain.",
        "Two brown dogs run through the shallow water on a sunny beach.",
        "A young man in a blue shirt is playing the guitar for a crowd.",
    ]
    lines = [*texts, " ".join(texts)]
    text = "".join(f"{line}\n" for line in lines).encode()
    ended = command("translate", NAME, "--no-split", stdin=text)
    assert ended.err.startswith("warning: standard input, line 5: 6 of its")
    assert ended.err.count("\n") == 1
    words = ("--no-split", "--json", "--quiet")
    rows = command("translate", NAME, *words, stdin=text).out.splitlines()
    *none, (told,) = (json.loads(row)["warnings"] for row in rows)
    assert not any(none) and f"line 5: {told}\n" in ended.err
    assert command("translate", NAME, stdin=text).err == ""


def test_the_wrong_direction_is_noticed_first(command, tmp_path):
    path, output = tmp_path / "text", tmp_path / "made.tsv"
    path.write_text("Un homme marche dans la rue.\n" * 3 + "12\t3\n")
    words = ("backtranslate", "multi30k-en-fr", path, "--output", output)
    ended = command(*words, "--beam=1")
    first, *_ = ended.err.splitlines()
    assert ended.status == 0 and "\n4 of 4 lines\n" in ended.err
    assert f"warning: {path}, line 1" in first
    assert re.search(r"in [34] of 4 lines, the model is unsure", ended.err)


@pytest.mark.parametrize("name", ["evaluate", "score"])
def test_swapped_files_and_other_languages_are_said(command, tmp_path, name):
    """Unless --quiet; no output changes, and what is right is not doubted."""
    texts = {
        "en": ["A man rides a bicycle.", "Two dogs are playing in the snow."],
        "de": ["Ein Mann fährt Fahrrad.", "Zwei Hunde spielen im Schnee."],
        "zh": [CHINESE, CHINESE],
    }
    for code, lines in texts.items():
        (tmp_path / code).write_text("".join(f"{x}\n" for x in lines), "utf-8")
    english, german, chinese = (tmp_path / code for code in texts)
    right = command(name, NAME, english, german)
    assert right.status == 0 and right.err == ""
    for model, files in ((NAME, (german, english)), (BACK, (english, german))):
        ended = command(name, model, *files)
        assert ended.status == 0 and ended.out.count("\n") > 1
        (told,) = ended.err.splitlines()
        told = " ".join(told.split())
        assert told.startswith(f"warning: {files[0]}: the translations ")
        assert told.endswith("is it the model of the other direction?")
    quiet = command(name, model, *files, "--quiet")
    assert quiet == (0, ended.out, "")
    foreign = command(name, NAME, chinese, german).err
    assert (
        f"{chinese}: in 2 of 2 lines, the model's subwords hardly" in foreign
    )


@pytest.mark.parametrize(
    ("known", "line"),
    [
        ("一个男人在街上走。两只狗在雪地里跑。", "两个男人在雪地里走。"),
        ("犬が雪の中で走る。男が道を歩く。", "男が雪の中を歩く。"),
        ("ผู้ชายเดินบนถนน สุนัขวิ่งในหิมะ", "ผู้ชายวิ่งในหิมะ"),
        ("A man walks. Two dogs run in the snow.", "Two men in the snow."),
    ],
)
def test_sides_are_told_apart_with_and_without_blanks(known, line):
    words, pair = {*small_words([known])}, (line, "Zwei Männer im Schnee.")
    assert on_other_side(words, [pair[::-1]])
    assert not on_other_side(words, [pair])
