"""What a line may have that a translator was not made for."""

import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.storage.model_folder import read_config
from annotated_transformer.text.checks import (
    Check,
    Watch,
    checks,
    numbers,
    subwords_per_word,
)
from annotated_transformer.translation import Translation, Translator

NAME = "multi30k-en-de"
CHINESE = "一个男人在街上走。"
CAPTIONS = ["A man walks.", "TWO DOGS RUN.", "", "A girl in a red coat sings."]


@cache
def translator() -> Translator:
    return Translator.load(NAME)


def said(lines, translations=None, **known):
    """What is said of the lines of a file."""
    found = []
    watch = Watch("file", checks(translator(), **known), found.append)
    given = translations or [Translation(x, 0.0, 0.0, 1) for x in lines]
    for i in range(0, len(lines), 2):
        watch.look(lines[i : i + 2], given[i : i + 2])
    watch.sum_up()
    watch.sum_up()
    return found


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("A man.\tEin Mann.", "a tab"),
        ("00:01:02,000 --> 00:01:05,000", "timecode"),
        ("A man " + "in a coat " * 50, "longer than all .402 characters"),
    ],
)
def test_a_line_is_named_once(line, told):
    first, *rest = said([*CAPTIONS, line, line], longest=402)
    assert first.startswith("warning: file, line 5: ") and not rest
    assert told.split(" .")[0] in first


def test_usual_lines_are_not_named():
    assert said([*CAPTIONS, "\t"], longest=402, subwords=1.667) == []
    paragraph = " ".join(CAPTIONS[:2] * 30)  # each of its sentences is short
    assert said([paragraph], longest=402) == []


def test_more_than_half_of_a_file():
    usual = Translation("", -1.0, -1.0, 10)
    low = Translation("", -9.0, -9.0, 10)
    lines = ["A man walks.", "", CHINESE, CHINESE]
    given = [low, usual, usual, low]
    known = {"subwords": 1.667, "confidence": -0.5}
    fit, unsure = said(lines, given, **known)
    assert "line 3: in 2 of 3 lines, the model's subwords" in fit
    assert "line 1: in 2 of 3 lines, a confidence below -0.50" in unsure
    assert said([*lines, "A dog."], [*given, usual], **known) == []


@given(st.lists(st.booleans()), st.sampled_from([0.0, 0.5]))
def test_a_check_speaks_once_if_its_share_is_exceeded(found, share):
    told: list[str] = []
    check = Check("so", lambda line, _: line == "True", share)
    watch = Watch("file", [check], told.append)
    watch.look(map(str, found))
    watch.sum_up()
    assert len(told) == (sum(found) > share * len(found))
    if told:
        assert f"line {found.index(True) + 1}:" in told[0]


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
    ],
)
def test_numbers_that_are_kept_or_lost(source, target, kept):
    assert (numbers(source) <= numbers(target)) == kept
    told = said([source], [Translation(target, 0.0, 0.0, 1)])
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
    assert "standard input, line 1: in 3 of 3 lines, a conf" in ended.err
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
    assert ended.err.startswith("warning: standard input, line 5: 6 words of")
    assert ended.err.count("\n") == 1
    assert command("translate", NAME, stdin=text).err == ""


def test_the_wrong_direction_is_noticed_first(command, tmp_path):
    path, output = tmp_path / "text", tmp_path / "made.tsv"
    path.write_text("Un homme marche dans la rue.\n" * 3 + "12\t3\n")
    words = ("backtranslate", "multi30k-en-fr", path, "--output", output)
    ended = command(*words, "--beam=1")
    first, *_, last = ended.err.splitlines()
    assert ended.status == 0 and last == "4 of 4 lines"
    assert f"{path}, line" in first and "warning: " in ended.err
    assert re.search(r"in [34] of 4 lines, a confidence", ended.err)
