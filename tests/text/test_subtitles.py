"""Subtitles: all but their texts comes back as it was."""

import re
from html.parser import HTMLParser

import pytest
import srt
import webvtt
from hypothesis import assume, given
from hypothesis import strategies as st

from annotated_transformer.errors import UserError
from annotated_transformer.text.subtitles import Subtitles
from annotated_transformer.translation import Translator

WORD = st.text("abc,.?!'é", min_size=1)
TEXT = st.lists(WORD, min_size=1, max_size=9).map(" ".join)
AROUND = ("{}", "<i>{}</i>", '- <font color="a b">{}</font>', r"{{\an8}}- {}")
LINE = st.builds(str.format, st.sampled_from(AROUND), TEXT)
END = st.sampled_from(["\n", "\r\n"])
BLANK = st.lists(st.sampled_from([" ", "\xa0"]), max_size=2)
ARROW = st.sampled_from([" --> ", "-->", "  -->\t", "\t--> "])
# numbers with a blank line below, or none; names only where there are such
NUMBERS = {
    "srt": ["{}", "{} ", "{}\n", "{}\n \n", ""],
    "vtt": ["{}", "intro {}", ""],
}
TIMES = {
    "srt": ["00:{:02}:01,000", "0:{:02}:01,5", "00:{:02}:01"],
    "vtt": ["00:{:02}:01.000", "{:02}:01.000", "{:02}:01.5"],
}
BEHIND = {"srt": ["", " X1:1 X2:2"], "vtt": ["", " line:0 align:start"]}
CHANGES = {
    "none": lambda word: [word],
    "longer": lambda word: [word, f"{word}-{word}"],
    "gone": lambda word: [],
}
KINDS = st.sampled_from(["srt", "vtt"])


@st.composite
def files(draw, kind, line=LINE, most=3):
    """A file of that kind, as people and programs write them."""
    lines = ["WEBVTT", "", "NOTE", "not a cue", ""] * (kind == "vtt")
    for i in range(1, draw(st.integers(1, 4)) + 1):
        number = draw(st.sampled_from(NUMBERS[kind])).format(i)
        first, last = (
            draw(st.sampled_from(TIMES[kind])).format(x) for x in (i, i + 1)
        )
        behind = draw(st.sampled_from(BEHIND[kind]))
        lines += [*number.split("\n")] * bool(number)
        lines.append(first + draw(ARROW) + last + behind)
        lines += draw(BLANK)
        if kind == "srt" and draw(st.booleans()):
            lines.append("")
        lines += draw(st.lists(line, min_size=1, max_size=most))
        lines += [*draw(BLANK), ""]
    text = "".join(line + draw(END) for line in lines)
    return text if draw(st.booleans()) else text.rstrip("\r\n")


def judged(text, kind):
    """The cues that others find: what stands around their texts, and these."""
    text = text.replace("\t", " ")
    if kind == "srt":
        return [
            ((x.index, x.start, x.end, x.proprietary), x.content)
            for x in srt.parse(text)
        ]
    return [
        ((x.identifier, x.start, x.end, str(x.settings)), x.raw_text)
        for x in webvtt.from_string(text)
    ]


def bare(text):
    """The words of a cue, without its tags and dashes."""
    return re.sub("(?m)^- ", "", re.sub(r"<.*?>|\{.*?\}", "", text)).split()


@given(KINDS, st.sampled_from([*CHANGES]), st.data())
def test_others_find_the_same_cues_with_other_texts(kind, name, data):
    def translate(text):
        return " ".join(
            x for word in text.split() for x in CHANGES[name](word)
        )

    text = data.draw(files(kind))
    found = Subtitles(text, f"file.{kind}")
    assert len(found.texts) == text.count("\n") + 1
    assert not any(sign in text for text in found.texts for sign in "<{-")
    old = judged(text, kind)
    if kind == "srt" and name == "gone":
        # below a cue that is empty, a timecode without a number is a text
        assume(all(number for (number, *_), _ in old))
    words = [word for _, cue in old for word in bare(cue)]
    assert " ".join(found.texts).split() == words
    new = judged(found.with_texts(map(translate, found.texts)), kind)
    for (place, before), (same_place, after) in zip(old, new, strict=True):
        assert same_place == place
        assert len(after.splitlines()) <= len(before.splitlines())
        words = [x for word in bare(before) for x in CHANGES[name](word)]
        assert bare(after) == words


@given(KINDS, st.data())
def test_all_but_the_texts_stays_byte_for_byte(kind, data):
    """Two texts are those of two speakers, so each has its line."""
    text = data.draw(
        files(kind, LINE.map(lambda x: f"- {x}".replace("- -", "-")))
    )
    found = Subtitles(text, f"file.{kind}")
    assert found.with_texts(found.texts) == text
    assert found.tagged == []


class Pairs(HTMLParser):
    """Counts the tags that lack their other half."""

    def __init__(self, text):
        super().__init__()
        self.open, self.alone = [], 0
        self.feed(text)
        self.close()
        self.alone += len(self.open)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        self.alone += tag not in self.open
        if tag in self.open:
            self.open.remove(tag)


@given(
    st.lists(
        st.lists(
            st.sampled_from(["a", "b", "<i>", "</i>", "<b>", "</b>", "<br>"]),
            min_size=1,
        ).map("".join),
        min_size=1,
        max_size=3,
    ),
    st.booleans(),
)
def test_a_tag_is_kept_only_as_a_pair(lines, speakers):
    """What is lost is told, and no words are."""
    lines = [f"- {line}" if speakers else line for line in lines]
    assume(all(bare(line) for line in lines))
    text = "1\n00:00:01,000 --> 00:00:02,000\n" + "\n".join(lines)
    found = Subtitles(text, "file.srt")
    ((_, new),) = judged(found.with_texts(found.texts), "srt")
    assert Pairs(new).alone == 0
    assert bare(new) == bare("\n".join(lines).replace("<br>", " "))
    kept = new.count("<") == text.count("<")
    assert bool(found.tagged) <= (not kept)


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
        (["<i>- One", "- Two</i>"], ["One", "Two"], None),
        (["<v Ann>One <b>two</b>"], ["One two"], "<v Ann>One two"),
        (['<font color="red">', "<b>Hm</b>"], ["Hm"], "<b>Hm</b>"),
        (["<i>One</i> <b>two</b>"], ["One two"], "One two"),
        (["One<br>two"], ["One two"], "One two"),
        # no text in a tag that has none
        (["a < b {c} > 1"], ["a < b {c} > 1"], None),
        # no timecodes
        (["Press File -> Open."], ["Press File -> Open."], None),
        (["9:00 - 17:00"], ["9:00 - 17:00"], None),
        (["10:45:00"], ["10:45:00"], None),
        (["a<00:00:01.19><c> b</c>"], ["a b"], "a b"),
    ],
)
def test_a_cue_is_a_text_for_each_speaker(old, texts, new):
    time = "00:00:01,000 --> 00:00:02,000\n"
    found = Subtitles("1\n" + time + "\n".join(old), "file.srt")
    assert [text for text in found.texts if text] == texts
    lost = new is not None and "<" in "".join(old) and "</i>" not in new
    assert found.tagged == [3] * lost
    whole = found.with_texts(found.texts).partition(time)[2]
    assert " ".join(whole.split()) == (new or " ".join(old))


def test_files_that_are_not_quite_right():
    """Of .srt no text is left out; in .vtt what is no cue is none."""
    time = "00:00:01,000 --> 00:00:02,000"
    lines = ["", "1", time, "One.", "", "2000", "2", time, "3", time, "Two."]
    for name, number in (("file.srt", "2000"), ("file.vtt", "")):
        found = Subtitles("\n".join(lines), name)
        expected = [*[""] * 3, "One.", "", number, *[""] * 4, "Two."]
        assert found.texts == expected
        assert found.with_texts(found.texts) == "\n".join(lines)
    # where a number is the end of a text
    lines = [time, "It is", "10", "", "2", "", time, "", "Two.", ""]
    for name in ("file.srt", "file.vtt"):
        found = Subtitles("\n".join(lines), name)
        assert [*filter(None, found.texts)] == ["It is 10", "Two."]
    aside = ["WEBVTT 00:00:01.000 00:00:02.000", "", time, "", "NOTE no", ""]
    assert not any(Subtitles("\n".join(aside), "file.vtt").texts)
    with pytest.raises(UserError, match="file.vtt: no subtitles, .* timecode"):
        Subtitles("A dog.", "file.vtt")


SIGNS = st.text("0:.,-> \t：–→", max_size=2)


@given(KINDS, st.sampled_from(["{}\n", "{}\n\n", ""]), SIGNS, st.data())
def test_a_damaged_timecode_is_read_or_refused(kind, number, signs, data):
    """Neither it nor a number ever becomes a text."""
    texts = {"One.": "Eins.", "Two.": "Zwei.", "Three.": "Drei."}
    time = "00:00:01.000 --> 00:00:02.000"
    place = data.draw(st.integers(0, len(time)))
    end = place + data.draw(st.integers(0, 2))
    damaged = time[:place] + signs + time[end:]
    cues = zip((time, damaged, time), texts, strict=True)
    text = "\n".join(
        f"{number.format(i)}{line}\n{said}\n"
        for i, (line, said) in enumerate(cues, 1)
    )
    line = text[: text.index("Two.")].count("\n")
    try:
        found = Subtitles(text, f"file.{kind}")
    except UserError as error:
        assert f"file.{kind}, line {line}: {damaged.strip()!r}" in str(error)
        assert damaged != time
        return
    new = found.with_texts(texts[x] if x else x for x in found.texts)
    assert new == re.sub(r"\w+\.$", lambda x: texts[x[0]], text, flags=re.M)


@pytest.mark.parametrize(
    "line",
    [
        "00:00:03 -> 00:00:04",
        "00:00:03,000 ---> 00:00:04,000",
        "00:00:03,000 --&gt; 00:00:04,000",
        "00：00：03,000 --> 00：00：04,000",
        "00:00:00:03,000 --> 00:00:00:04,000",
        "00:00:03,200.0000000000582 --> 00:00:04,000",
        "00:00:03,000 --> 00:00:04,000 And text.",
        "00:00:03,000 00:00:04,000",
        "00:00:03,000 -->",
        "00:00:03,000",
    ],
)
def test_a_line_like_a_timecode_is_refused(line, command, tmp_path):
    time = "00:00:01,000 --> 00:00:02,000"
    path = tmp_path / "a.srt"
    path.write_text(f"1\n{time}\nA dog.\n\n2\n{line}\nA cat.\n")
    ended = command("translate", "multi30k-en-de", path)
    assert (ended.status, ended.out) == (1, "")
    assert f"{path}, line 6: {line!r} is like a timecode" in ended.err


def test_signs_of_the_web_are_written_as_such():
    lines = "00:01.000 --> 00:02.000\n<i>a &lt; b &amp; c</i>"
    for name, text in (("a.vtt", "a < b & c"), ("a.srt", lines[27:-4])):
        found = Subtitles(lines, name)
        assert found.texts == ["", text]
        assert found.with_texts(found.texts) == lines


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
    for told in ("not in its translation: 333", "tags within a text"):
        assert f"warning: {path}, line 3: {told}" in ended.err
