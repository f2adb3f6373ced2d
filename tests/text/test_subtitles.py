"""Subtitles: all but their texts comes back as it was."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.errors import UserError
from annotated_transformer.text.subtitles import Subtitles
from annotated_transformer.translation import Translator

TAGS = ("<i>", "</i>", '<font color="a b">', r"{\an8}", "<v A B>", "<0:1.5>")
TAG = re.compile("|".join(map(re.escape, TAGS)))
WORD = st.text("abc,.?!'é", min_size=1)
TOKENS = st.lists(WORD | st.sampled_from(TAGS), min_size=1, max_size=9)
TEXT = TOKENS.map(" ".join)
CUES = st.lists(st.lists(TEXT | TEXT.map("- {}".format)), min_size=1)
CHANGES = {
    "none": lambda word: [word],
    "longer": lambda word: [word, f"{word}-{word}"],
    "gone": lambda word: [],
}


def file_of(cues, web):
    """The lines of a file, which others can read."""
    lines = ["WEBVTT", "", "NOTE", "not a cue", ""] * web
    for i, cue in enumerate(cues):
        lines += [f"{i}", f"00:{i:02}:01.000 --> 00:{i:02}:09.000 line:0"]
        lines += [*cue, ""]
    return lines


def cues_in(lines):
    """What is there before the cues, and numbers, times and texts of these."""
    text = "".join(f"{line}\n" for line in lines)
    pattern = r"(?m)^(\d+)\n(.*-->.*)\n((?:.+\n)*)\n"
    found = re.findall(pattern, text)
    return re.sub(pattern, "", text), [
        (number, time, cue.splitlines()) for number, time, cue in found
    ]


@given(CUES, st.booleans(), st.sampled_from([*CHANGES]))
def test_all_but_the_texts_comes_back(cues, web, name):
    def translate(text):
        return " ".join(x for word in text.split() for x in change(word))

    change = CHANGES[name]
    lines = file_of(cues, web)
    found = Subtitles(lines, "file", ".vtt" if web else ".srt")
    texts = [text for _, text in found.texts()]
    assert not any(TAG.search(text) for text in texts)
    head, old = cues_in(lines)
    new_head, new = cues_in(found.with_texts(map(translate, texts)))
    assert new_head == head and len(new) == len(old) == len(cues)
    for (*place, before), (*new_place, after) in zip(old, new, strict=True):
        assert new_place == place and len(after) <= len(before)
        was, now = " ".join(before), " ".join(after)
        assert TAG.findall(now) == TAG.findall(was)
        assert TAG.sub(" ", now).split() == [
            x
            for word in TAG.sub(" ", was).split()
            for x in ([word] if word == "-" else change(word))
        ]


@pytest.mark.parametrize(
    ("old", "texts", "new"),
    [
        # one text, whose lines are of like length
        (["One", "two three."], ["One two three."], ["Eins zwei", "drei."]),
        # two speakers
        (["- One", "two!", r"{\an8}- Three?"], ["One two!", "Three?"], None),
        (["-One", "–Two"], ["One", "Two"], None),
        # tags at their words
        (["<b>One</b> two <i>three</i>"], ["One two three"], None),
        (["<i>One</i>", "<i>two.</i>"], ["One two."], None),
        (['<font color="red">', "Hm"], ["Hm"], ['<font color="red">Hm']),
        # no text in a tag that has none
        (["a < b {c} > 1"], ["a < b {c} > 1"], None),
    ],
)
def test_a_cue_is_a_text_for_each_speaker(old, texts, new):
    words = {"One": "Eins", "two": "zwei", "three.": "drei."} if new else {}
    lines = ["1", "00:00:01,000 --> 00:00:02,000", *old]
    found = Subtitles(lines, "file", ".srt")
    assert [text for _, text in found.texts()] == texts
    given = (
        " ".join(words.get(word, word) for word in text.split())
        for text in texts
    )
    whole = " ".join([*found.with_texts(given)][2:])
    assert whole == " ".join(new or old)


def test_files_that_are_not_quite_right():
    """Of .srt no text is left out; in .vtt what is no cue is none."""
    time = "00:00:01,000 --> 00:00:02,000"
    lines = ["", "1", time, "One.", "", "2000", "2", time, "3", time, "Two."]
    found = Subtitles(lines, "file", ".srt")
    assert [*found.texts()] == [(4, "One."), (6, "2000"), (11, "Two.")]
    assert [*found.with_texts(["One.", "2000", "Two."])] == lines
    found = Subtitles(lines, "file", ".vtt")
    assert [*found.texts()] == [(4, "One."), (11, "Two.")]
    with pytest.raises(UserError, match="file: no subtitles, .* a timecode"):
        Subtitles(["A dog."], "file", ".vtt")


def test_signs_of_the_web_are_written_as_such():
    lines = [
        "WEBVTT",
        "",
        "00:01.000 --> 00:02.000",
        "<i>a &lt; b</i> &amp; c",
    ]
    found = Subtitles(lines, "file", ".vtt")
    assert [*found.texts()] == [(4, "a < b & c")]
    assert [*found.with_texts(["a < b & c"])] == lines
    found = Subtitles(lines, "file", ".srt")
    assert [*found.texts()] == [(4, "a &lt; b &amp; c")]


def test_translate_keeps_marks_and_line_ends(command, tmp_path):
    name, path = "multi30k-en-de", tmp_path / "film.SRT"
    text = "\ufeff1\r\n0:00:01,000 --> 0:00:02,000\r\n{}\r\n\r\n"
    path.write_bytes(text.format("<i>A dog runs.</i>").encode())
    ended = command("translate", name, path)
    expected = Translator.load(name)("A dog runs.")
    assert ended == (0, text.format(f"<i>{expected}</i>"), "")
    line = f"A dog has {'3' * 9} balloons, and a man is watching it."
    path.write_text(f"1\n0:00:01.5 --> 0:00:02.5\nTwo dogs.\n{line}\n- No.\n")
    ended = command("translate", name, path)
    assert ended.out.count("\n") == 5 and "No." not in ended.out
    assert f"warning: {path}, line 3: a number" in ended.err
