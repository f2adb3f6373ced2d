"""Pairs in files, read with care: what is wrong is told with its place."""

import gzip
import os

import pytest

from annotated_transformer.corpora.parallel_text import read_pairs, read_tsv
from annotated_transformer.errors import UserError
from annotated_transformer.system.text_lines import read_lines


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(UserError, match=r"gone\.txt cannot be read .*No such"):
        read_lines(tmp_path / "gone.txt")
    with pytest.raises(UserError, match="check the path"):
        read_lines(tmp_path)


@pytest.mark.parametrize("data", ["", "\ufeff"])
@pytest.mark.parametrize("name", ["t.txt", "t.gz"])
def test_empty_file(tmp_path, name, data):
    data = data.encode()
    path = tmp_path / name
    write(path, gzip.compress(data) if name == "t.gz" else data)
    with pytest.raises(UserError, match=f"{name} is empty"):
        read_lines(path)


def test_undecodable_byte_has_a_line_and_a_column(tmp_path):
    path = write(tmp_path / "t.de", "eins\nzwei\nfünf drei".encode("latin-1"))
    with pytest.raises(
        UserError, match=r"t\.de, line 3: byte 2 .* 0xfc.*iconv"
    ):
        read_lines(path)


def test_damaged_gzip(tmp_path):
    whole = gzip.compress(os.urandom(5000).hex().encode())
    for cut in (5, 100, len(whole) - 4):
        path = write(tmp_path / "t.gz", whole[:cut])
        with pytest.raises(UserError, match=r"t\.gz is damaged or cut short"):
            read_lines(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for data in (flipped, b"plain text\n"):
        path = write(tmp_path / "t.gz", bytes(data))
        with pytest.raises(UserError, match="again"):
            read_lines(path)


def test_counts_that_differ_are_both_told(tmp_path):
    source = write(tmp_path / "t.en", "a\nb\nc\n")
    target = write(tmp_path / "t.de", "A\nB\n")
    with pytest.raises(UserError, match=r"t\.en has 3 .*t\.de has 2;"):
        read_pairs(source, target)


@pytest.mark.parametrize("blank", ["", "  ", "\u2028", "\xa0"])
def test_empty_lines_are_told(tmp_path, blank):
    source = write(tmp_path / "t.en", "a\nb\nc\nd\n")
    target = write(tmp_path / "t.de", f"A\n{blank}\nC\n{blank}\n")
    with pytest.raises(UserError, match=r"t\.de, line 2: empty \(2 in all\)"):
        read_pairs(source, target)
    with pytest.raises(UserError, match=r"t\.de, line 2"):
        read_pairs(target, source)
    table = write(tmp_path / "t.tsv", f"a\tA\n{blank}\tB\n")
    with pytest.raises(UserError, match=r"t\.tsv \(source\), line 2: empty"):
        read_tsv(table)


@pytest.mark.parametrize(("line", "count"), [("b", 1), ("b\tB\t", 3), ("", 1)])
def test_tsv_with_wrong_columns(tmp_path, line, count):
    path = write(tmp_path / "t.tsv", f"a\tA\n{line}\nc\tC\n")
    told = f"tsv, line 2: columns: {count}, not 2"
    with pytest.raises(UserError, match=told):
        read_tsv(path)
