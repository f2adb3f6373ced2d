"""Files of text, read with care: what is wrong is told with its place."""

import gzip
import os
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.corpora.parallel_text import (
    read_pairs,
    read_table,
    write_tsv,
)
from annotated_transformer.errors import UserError
from annotated_transformer.system.text_lines import decode_lines, read_lines


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


@given(sentences.map(lambda lines: [f"x{line}" for line in lines]))
def test_pairs_come_back_from_their_file(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("text") / "t.tsv"
    write_tsv(path, zip(lines, reversed(lines), strict=True))
    plain = [line.replace("\t", " ") for line in lines]
    assert read_table(path) == [*zip(plain, reversed(plain), strict=True)]


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
        ("t.txt", b"a\nb\0", "line 2: byte 2 .*0x00"),
        *[
            ("t.txt", f"{text}\n".encode(encoding), "-f UTF-16 -t")
            for text in ("a dog", "\u043f\u0440\u0438\u0432\u0435\u0442")
            for encoding in ("utf-16", "utf-16-le", "utf-16-be")
        ],
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


@pytest.mark.parametrize("blank", ["", "\u2028"])
def test_empty_lines_are_told(tmp_path, blank):
    source = write(tmp_path / "t.en", "a\nb\nc\nd\n")
    target = write(tmp_path / "t.de", f"A\n{blank}\nC\n{blank}\n")
    with pytest.raises(UserError, match=r"t\.de, line 2: empty \(2 in all\)"):
        read_pairs(source, target)
    with pytest.raises(UserError, match=r"t\.de, line 2"):
        read_pairs(target, source)
    table = write(tmp_path / "t.tsv", f"a\tA\n{blank}\tB\n")
    with pytest.raises(UserError, match=r"t\.tsv \(source\), line 2: empty"):
        read_table(table)
