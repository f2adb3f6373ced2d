"""Subtitles: all but their texts comes back as it was."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.errors import UserError
from annotated_transformer.text.subtitles import Subtitles
from annotated_transformer.translation import Translator

WORD = st.text("abc,.?!'é", min_size=1)
TEXT = st.lists(WORD, min_size=1, max_size=9).map(" ".join)
AROUND = ("{}", "<i>{}</i>", '- <font color="a b">{}</font>', r"{{\an8}}- {}")
LINE = st.builds(str.format, st.sampled_from(AROUND), TEXT)
CUES = st.lists(st.lists(LINE, min_size=1, max_size=3), min_size=1)
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


def bare(lines):
    """The words of a cue, without its tags and dashes."""
    plain = re.sub(r"<.*?>|\{.*?\}", "", "\n".join(lines))
    return re.sub("(?m)^- ", "", plain).split()


@given(CUES, st.booleans(), st.sampled_from([*CHANGES]))
def test_all_but_the_texts_comes_back(cues, web, name):
    def translate(text):
        return " ".join(
            x for word in text.split() for x in CHANGES[name](word)
        )

    lines = file_of(cues, web)
    found = Subtitles(lines, "file.vtt" if web else "file.srt")
    assert len(found.texts) == len(lines)
    assert not any(sign in text for text in found.texts for sign in "<{-")
    new_lines = [*found.with_texts(map(translate, found.texts))]
    if name == "none" and all(len(cue) == 1 for cue in cues):
        assert new_lines == lines
    (head, old), (new_head, new) = cues_in(lines), cues_in(new_lines)
    assert new_head == head and len(new) == len(old) == len(cues)
    for (*place, before), (*new_place, after) in zip(old, new, strict=True):
        assert new_place == place and len(after) <= len(before)
        words = [x for word in bare(before) for x in CHANGES[name](word)]
        assert bare(after) == words


@pytest.mark.parametrize(
    ("old", "texts", "new"),
    [
        # one text, whose lines are of like length
        (["One", "two three."], ["One two three."], "One two three."),
        # two speakers
        (["- One", "two!", r"{\an8}- Three?"], ["One two!", "Three?"], None),
        (["-One", "–Two"], ["One", "Two"], None),
        # tags around a text, and within it
        (["<i>One</i>", "<i>two.</i>"], ["One two."], "<i>One two.</i>"),
        (['<font color="red">', "Hm"], ["Hm"], None),
        (["<i>One</i> <b>two</b>"], ["One two"], "<i>One two</b>"),
        # no text in a tag that has none
        (["a < b {c} > 1"], ["a < b {c} > 1"], None),
    ],
)
def test_a_cue_is_a_text_for_each_speaker(old, texts, new):
    lines = ["1", "00:00:01,000 --> 00:00:02,000", *old]
    found = Subtitles(lines, "file.srt")
    assert [text for text in found.texts if text] == texts
    assert found.tagged == [3] * ("<b>" in old[0])
    whole = " ".join([*found.with_texts(found.texts)][2:])
    assert whole == (new or " ".join(old))


def test_files_that_are_not_quite_right():
    """Of .srt no text is left out; in .vtt what is no cue is none."""
    time = "00:00:01,000 --> 00:00:02,000"
    lines = ["", "1", time, "One.", "", "2000", "2", time, "3", time, "Two."]
    for name, number in (("file.srt", "2000"), ("file.vtt", "")):
        found = Subtitles(lines, name)
        expected = [*[""] * 3, "One.", "", number, *[""] * 4, "Two."]
        assert found.texts == expected
        assert [*found.with_texts(found.texts)] == lines
    with pytest.raises(UserError, match="file.vtt: no subtitles, .* timecode"):
        Subtitles(["A dog."], "file.vtt")


def test_signs_of_the_web_are_written_as_such():
    lines = ["00:01.000 --> 00:02.000", "<i>a &lt; b &amp; c</i>"]
    for name, text in (("a.vtt", "a < b & c"), ("a.srt", lines[1][3:-4])):
        found = Subtitles(lines, name)
        assert found.texts == ["", text]
        assert [*found.with_texts(found.texts)] == lines


def test_translate_keeps_marks_and_line_ends(command, tmp_path):
    name, path = "multi30k-en-de", tmp_path / "film.SRT"
    text = "\ufeff1\r\n0:00:01,000 --> 0:00:02,000\r\n{}\r\n\r\n"
    path.write_bytes(text.format("<i>A dog runs.</i>").encode())
    ended = command("translate", name, path)
    expected = Translator.load(name)("A dog runs.")
    assert ended == (0, text.format(f"<i>{expected}</i>"), "")
    line = f"A <b>dog</b> has {'3' * 9} balloons, and a man is watching it."
    path.write_text(f"1\n0:00:01.5 --> 0:00:02.5\nTwo dogs.\n{line}\n- No.\n")
    ended = command("translate", name, path)
    assert ended.out.count("\n") == 5 and "No." not in ended.out
    for told in ("a number", "tags within a text"):
        assert f"warning: {path}, line 3: {told}" in ended.err
