"""Lines of text: what ends one, and what is none."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    data = "".join(line + ends for line in lines).encode()
    path = tmp_path_factory.mktemp("text") / ("t.gz" if gz else "t.txt")
    write(path, gzip.compress(data) if gz else data)
    # a first character U+FEFF is a byte order mark, and no part of the text
    assert read_lines(path) == [lines[0].removeprefix("\ufeff"), *lines[1:]]


def test_only_a_line_feed_ends_a_line(tmp_path):
    odd = "a\u2028b\u2029c\u0085d\x0ce\x0bf\x1cg\x1eh"
    assert len(odd.splitlines()) > 1
    path = write(tmp_path / "t", f"\ufeff{odd}\r\n\nlast")
    assert read_lines(path) == [odd, "", "last"]


def test_lines_of_standard_input_carry_its_name():
    assert decode_lines(b"a\n\n", "standard input") == ["a", ""]
    assert decode_lines(b"", "standard input") == []
    with pytest.raises(UserError, match="standard input, line 2: byte 1"):
        decode_lines(b"a\n\xff\n", "standard input")
