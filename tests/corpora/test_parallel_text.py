"""Files of text, read with care: what is wrong is told with its place."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import zipfile
from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.corpora.parallel_text import (
    read_parallel,
    write_tsv,
)
from annotated_transformer.errors import UserError
from annotated_transformer.system.text_lines import (
    decode_lines,
    read_lines,
    stream_lines,
)


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


sentences = st.lists(
    st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8")),
    min_size=1,
)


@given(lines=sentences, gz=st.booleans(), ends=st.sampled_from(["\n", "\r\n"]))
def test_any_lines_survive_a_round_trip(tmp_path_factory, lines, gz, ends):
    """Line separators too: only a line feed ends a line."""
    data = "".join(line + ends for line in lines).encode()
    path = tmp_path_factory.mktemp("text") / ("t.gz" if gz else "t.txt")
    write(path, gzip.compress(data, mtime=0) if gz else data)
    # a first character U+FEFF is a byte order mark, and no part of the text
    expected = [lines[0].removeprefix("\ufeff"), *lines[1:]]
    assert read_lines(path) == expected
    assert decode_lines(data, "standard input") == expected


@given(sentences.filter(lambda lines: "\0" not in "".join(lines)), st.data())
def test_a_byte_that_is_no_text_has_a_line_and_a_column(lines, data):
    """Counted from 1, and on from lines that came before."""
    number = data.draw(st.integers(1, len(lines)))
    before = data.draw(st.integers(0, 9))
    rows = [line.encode() for line in lines]
    column = len(rows[number - 1]) + 1
    rows[number - 1] += b"\xff"
    told = f"text, line {before + number}: byte {column} of the line, 0xff"
    with pytest.raises(UserError, match=told):
        decode_lines(b"\n".join(rows), "text", before)


@given(
    st.lists(st.sampled_from(["a dog", "привет", "ñ"]), min_size=1),
    st.sampled_from(["utf-16", "utf-16-le", "utf-16-be"]),
)
def test_what_is_advised_for_utf_16_finds_its_text(lines, encoding):
    text = "".join(f"{line}\n" for line in lines)
    data = text.encode(encoding)
    with pytest.raises(UserError, match=", line [12]: byte ") as caught:
        decode_lines(data, "text")
    (advised,) = re.findall("iconv -f (.*?) -t UTF-8", str(caught.value))
    assert data.decode(advised) == text


@given(sentences, st.sampled_from(["\0", "\r"]), st.data())
def test_bytes_that_no_text_has_are_not_taken_for_an_encoding(
    lines, sign, data
):
    """What is advised for them leaves all else as it was."""
    number = data.draw(st.integers(1, len(lines)))
    line = lines[number - 1]
    place = data.draw(st.integers(0, len(line)))
    damaged = [*lines]
    damaged[number - 1] = line[:place] + sign + line[place:] + "."
    text = "\n".join(damaged) + "."
    column = len(line[:place].encode()) + 1
    told = f"text, line {number}: byte {column} of the line, "
    with pytest.raises(UserError, match=told) as caught:
        decode_lines(text.encode(), "text")
    ((option, _, new),) = re.findall(
        r"tr (-d )?'\\(000|r)' ?(?:'(.*)')?", str(caught.value)
    )
    assert bool(option) == (sign == "\0")
    assert not option or "-d '\\000' or, if the whole" in str(caught.value)
    mended = text.replace(sign, new.replace("\\n", "\n"))
    expected = mended.removeprefix("\ufeff").removesuffix("\n").split("\n")
    assert decode_lines(mended.encode(), "text") == expected
    more = sign == "\r" and len(lines) == 1
    assert len(expected) == len(lines) + more


@given(sentences.map(lambda lines: [f"x{line}" for line in lines]))
def test_pairs_come_back_from_their_file(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("text") / "t.tsv"
    write_tsv(path, zip(lines, reversed(lines), strict=True))
    plain = [line.replace("\t", " ") for line in lines]
    assert read_parallel([path]) == [*zip(plain, reversed(plain), strict=True)]


def csv_text(names, rows, sign=","):
    """A table as Python's own writer has it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", delimiter=sign)
    writer.writerows([names, *rows])
    return text.getvalue()


SEPARATED = partial(csv_text, sign=";"), partial(csv_text, sign="\t")


def one_object(names, row):
    """An object as JSON, with equal names if there are such."""
    items = zip(map(json.dumps, names), map(json.dumps, row), strict=True)
    return f"{{{', '.join(map(': '.join, items))}}}"


def json_text(names, rows):
    return "".join(one_object(names, row) + "\n" for row in rows)


def nested(names, rows):
    """As Hugging Face's datasets are written."""
    objects = (
        f'{{"id": "7", "translation": {one_object(names, row)}}}\n'
        for row in rows
    )
    return "".join(objects)


words = st.text(st.characters(exclude_characters="\r\0", codec="utf-8"))


@given(
    pairs=st.lists(st.tuples(words, words), min_size=1),
    names=st.sampled_from([("en", "de"), ("source", "target")]),
    order=st.permutations(range(5)),
    write_as=st.sampled_from(
        [csv_text, *SEPARATED, json_text, nested],
    ),
    gz=st.booleans(),
)
def test_pairs_are_read_as_others_write_them(
    tmp_path_factory, pairs, names, order, write_as, gz
):
    """Wherever their columns are, and whatever the others hold."""
    other = "target" if "en" in names else "de"
    header, *rows = [[(*names, other, "x", "x")[i] for i in order]] + [
        [(*pair, "", "\n", "")[i] for i in order] for pair in pairs
    ]
    text = write_as(header, rows).encode()
    ending = ".jsonl" if write_as in (json_text, nested) else ".CSV"
    path = tmp_path_factory.mktemp("text") / f"t{ending}{'.gz' * gz}"
    write(path, gzip.compress(text, mtime=0) if gz else text)
    assert read_parallel([path], ("en", "de"), blank=True) == pairs
    if not all(side.strip() for pair in pairs for side in pair):
        with pytest.raises(UserError, match=r"line \d+: empty \(\d+ in all"):
            read_parallel([path], ("en", "de"))


NAMES = st.sampled_from(["en", "de", "source", "target", "x", "a b", "", "ä"])


@given(
    names=st.lists(NAMES, min_size=1, max_size=9),
    write_as=st.sampled_from([csv_text, json_text, nested]),
)
def test_a_column_is_found_once_or_the_names_are_told(
    tmp_path_factory, names, write_as
):
    """In the line that has them; unread ones may be there any number."""
    row = [f"text {i}" for i in range(len(names))]
    ending = ".csv" if write_as is csv_text else ".jsonl"
    path = tmp_path_factory.mktemp("text") / f"t{ending}"
    write(path, write_as(names, [row]))
    pairs = [("en", "de"), ("source", "target")]
    read = next((x for x in pairs if {*x} <= {*names}), None)
    if read and names.count(read[0]) == names.count(read[1]) == 1:
        places = map(names.index, read)
        assert read_parallel([path], ("en", "de")) == [
            tuple(row[i] for i in places)
        ]
        return
    with pytest.raises(UserError, match=", line 1: ") as caught:
        read_parallel([path], ("en", "de"))
    if read:
        twice = [name for name in read if names.count(name) > 1]
        assert f"{names.count(twice[0])} " in str(caught.value)
        assert f"are named {twice[0]!r}; keep the one" in str(caught.value)
    else:
        told = f", only {', '.join(map(repr, names))}; rename them"
        assert told in str(caught.value)


CELL = st.text('ab" ', min_size=1).filter(str.strip)


def test_blanks_around_the_names_of_columns_do_not_count(tmp_path):
    for sign in ",;":
        path = write(tmp_path / "t.csv", f"en{sign} de \na{sign}b\n")
        assert read_parallel([path], ("en", "de")) == [("a", "b")]


@given(st.lists(st.tuples(CELL, CELL), min_size=1), st.booleans())
def test_csv_with_tabs_is_not_taken_for_a_text(tmp_path_factory, pairs, named):
    """As Python's writer has it, quotation marks doubled."""
    text = io.StringIO()
    rows = [("EN ", "de"), *pairs] if named else pairs
    csv.writer(text, "excel-tab", lineterminator="\n").writerows(rows)
    path = write(tmp_path_factory.mktemp("text") / "t.tsv", text.getvalue())
    if named or '"' in text.getvalue():
        told = "names of columns" if named else "marks are doubled"
        with pytest.raises(UserError, match=told):
            read_parallel([path], ("en", "de"))
    else:
        assert read_parallel([path], ("en", "de")) == pairs


def test_marks_that_a_text_has_are_not_taken_for_those_of_csv(tmp_path):
    """One text that cannot be a field of CSV is enough."""
    pairs = [('"a ""b"""', "c"), ('"a" and "b"', "c"), ('"a"', '"b"')]
    path = tmp_path / "t.tsv"
    write_tsv(path, pairs)
    assert read_parallel([path]) == pairs


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("t.tsv", "a\tb\na b\n", "line 2: columns: 1, not 2; .* one tab"),
        ("t.tsv", "a\tb\n\nc\td\n", "line 2: it is empty; delete it"),
        ("t.txt", "[\n", r"line 1: columns: 1, .* \.csv, \.jsonl or"),
        ("t.csv", "en,de\n", "has no pairs"),
        ("t.csv", "\n", "line 1: no columns .*, only none"),
        ("t.csv", "en:de\na:b\n", "line 1: no columns 'en'.*, only 'en:de'"),
        ("t.csv", 'en;de\na;"b\n', r"line 2: not CSV .* with ';', a line"),
        ("t.csv", 'en,de\n"a\nb",c\na\n', "line 4: columns: 1, not 2"),
        ("t.csv", 'en,de\na,b\nc,"d\ne,f\n', "line 3: not CSV from here on"),
        ("t.csv", 'en,de\n"a"b,c\n', "line 2: not CSV .*expected"),
        ("t.csv", 'en,de\n"a\nb", \n', r"\(de\), line 2: empty"),
        ("t.jsonl", '{"en": "a", "de": "b"}\n{\n', "line 2: not JSON"),
        ("t.jsonl", '{"":' * 10**5, "line 1: not JSON .*recursion"),
        ("t.jsonl", "[" * 10**5, r"is a JSON array.* jq -c '\.\[\]' "),
        ("t.json", '[\n{"en": "a", "de": "b"}\n]\n', "is a JSON array"),
        ("t.json", '[{"en": "a", "de": "b"}]', "is a JSON array"),
        ("t.json", '{\n"en": "a"}', "line 1: not JSON .* is an object"),
        ("t.jsonl", "1" * 5000, "line 1: not JSON .*digits"),
        (
            "t.jsonl",
            '["a", "b"]',
            r'line 1: \["a", "b"\] is not an object, such as ."en"',
        ),
        (
            "t.jsonl",
            '{"translation": "a"}',
            "no fields .*, only 'translation'",
        ),
        ("t.jsonl", '{"en": "a", "de": null}', "line 1, field 'de': None"),
        ("t.jsonl", '{"en": "\\ud800", "de": "b"}', "field 'en': .*ud800' is"),
    ],
)
def test_what_is_wrong_with_a_table_has_a_place(tmp_path, name, text, told):
    path = write(tmp_path / name, text)
    with pytest.raises(UserError, match=told) as caught:
        read_parallel([path], ("en", "de"))
    message = str(caught.value)
    assert message.startswith(f"{path}") and "\n" not in message


@pytest.mark.parametrize(
    ("first", "refused"),
    [
        ("English\tGerman", True),
        ("English text\tDeutsch", True),
        ("chinese\tEnglish (UK)", True),
        ("de\tEN", True),
        ("Source\tTarget", True),
        ("German\tDeutsch", False),  # a word and its translation
        ("English\tanglais", False),
        ("Go\tGeh", False),
        ("Turkish coffee is black\tTürkischer Kaffee", False),
    ],
)
def test_a_first_pair_of_names_is_not_learned_from(tmp_path, first, refused):
    """Nor in two files; further down it is a pair like any other."""
    rows = [first, "A dog.\tEin Hund.", "English\tGerman"]
    names = tmp_path / "t.tsv", tmp_path / "t.en", tmp_path / "t.de"
    write(names[0], "".join(f"{row}\n" for row in rows))
    for side, name in enumerate(names[1:]):
        lines = (row.split("\t")[side] for row in rows)
        write(name, "".join(f"{line}\n" for line in lines))
    for read in (
        lambda: read_parallel([names[0]], ("en", "de")),
        lambda: read_parallel(names[1:], ("en", "de")),
    ):
        if refused:
            with pytest.raises(UserError, match="line 1: .* names of columns"):
                read()
        else:
            assert [*map("\t".join, read())] == rows


def test_what_is_no_text_is_named(tmp_path):
    """As other programs write it; a text may begin like it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("[Content_Types].xml", "<Types/>")
    found = {
        "a zip archive, as a spreadsheet": archive.getvalue(),
        "compressed by gzip; let its name end in .gz": PACKED,
        "compressed by bzip2": bz2.compress(b"a"),
        "compressed by xz": lzma.compress(b"a"),
        "a PDF; ": b"%PDF-1.7\n%\xe2\xe3\n",
    }
    for told, data in found.items():
        path = write(tmp_path / "t.xlsx", data)
        with pytest.raises(UserError, match=f"is no text, but {told}"):
            read_parallel([path])
        with pytest.raises(UserError, match=f"is no text, but {told}"):
            [*stream_lines(path)]
    path = write(tmp_path / "t.txt", b"%PDF is a format.\n")
    assert read_lines(path) == ["%PDF is a format."]


UNREAD = (".", "/dev/zero") if os.path.exists("/dev/zero") else (".",)
PACKED = gzip.compress(Random(0).randbytes(5000).hex().encode(), mtime=0)
MISSING = None


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("t.txt", MISSING, "cannot be read .*No such.*; check the path"),
        ("t.txt", b"", "is empty"),
        ("t.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("t.gz", b"plain text\n", "not gzip in spite of its name .*again"),
        ("t.gz", PACKED[:-4], "is damaged or cut short"),
        ("t.gz", PACKED[:900] + b"?" + PACKED[901:], "is damaged"),
        ("t.txt", b"gr\xfc\xdfe", "line 1: byte 3 .*0xfc.*-f LATIN1"),
        *[(name, None, "cannot be read") for name in UNREAD],
    ],
)
def test_what_is_no_text_is_one_line(tmp_path, name, data, told):
    path = tmp_path / name
    if data is not MISSING:
        write(path, data)
    with pytest.raises(UserError, match=told) as caught:
        read_lines(path)
    message = str(caught.value)
    assert message.startswith(f"{path}") and "\n" not in message


@pytest.mark.parametrize("blank", ["", "\u2028", "\u200b \u200b"])
def test_empty_lines_are_told(tmp_path, blank):
    source = write(tmp_path / "t.en", "a\nb\nc\nd\n")
    target = write(tmp_path / "t.de", f"A\n{blank}\nC\n{blank}\n")
    with pytest.raises(UserError, match=r"t\.de, line 2: empty \(2 in all\)"):
        read_parallel([source, target])
    with pytest.raises(UserError, match=r"t\.de, line 2"):
        read_parallel([target, source])
    table = write(tmp_path / "t.tsv", f"a\tA\n{blank}\tB\n")
    with pytest.raises(UserError, match=r"t\.tsv \(source\), line 2: empty"):
        read_parallel([table])
