"""Running text: its parts are the text, and it is never read as a whole."""

import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.corpora.running_text import RunningText, plays
from annotated_transformer.errors import UserError
from annotated_transformer.system.text_lines import read_lines, stream_lines
from annotated_transformer.text.documents import ends_document

TEXTS = st.lists(
    st.text(
        st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]),
        min_size=1,
    ),
    min_size=1,
    max_size=3,
)


@given(TEXTS, st.floats(0.001, 0.999))
def test_the_parts_are_the_text(tmp_path_factory, texts, held_out):
    """Each line in one part, those held out last, the files' ends marked."""
    folder = tmp_path_factory.mktemp("text")
    for i, text in enumerate(texts):
        (folder / f"{i}.txt").write_bytes(text.encode())
    files = sorted(folder.iterdir())
    made = RunningText.from_files(files, "* * *", held_out)
    lines = [
        line + "\n" for file in files for line in [*read_lines(file), "* * *"]
    ]
    learned, rest = [*made.lines(False)], [*made.lines(True)]
    assert learned + rest == [*made.lines()] == lines
    marks = len("* * *\n") * len(files)
    size = sum(len(line.encode()) for line in lines) - marks
    assert made.size == size
    share = sum(len(x.encode()) for x in rest if x != "* * *\n") / size
    longest = max(len(line.encode()) for line in lines)
    assert held_out - longest / size <= share <= held_out + 1e-9


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_a_line_ends_a_document_or_does_not(line):
    mark = line.strip()
    assert ends_document(f"  {line}\n", mark)
    assert not ends_document(f"{line}\n", f"{mark}.")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_bytes_are_those_of_the_text_that_is_read(tmp_path, end, last):
    """Whatever system has written it, and whether its last line is ended."""
    text = end.join(["é a", "", "b"]) + (end if last else "")
    (tmp_path / "text").write_bytes(f"\ufeff{text}".encode())
    found = RunningText.from_files([tmp_path / "text"])
    assert found.size == len("é a\n\nb\n".encode())
    assert "".join(found.lines()) == "é a\n\nb\n\n"


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]))),
    st.integers(1, 9),
)
def test_lines_come_in_blocks_of_any_size(tmp_path_factory, lines, at_once):
    path = tmp_path_factory.mktemp("text") / "text.gz"
    path.write_bytes(
        gzip.compress("".join(f"{x}\r\n" for x in lines).encode())
    )
    expected = [f"{line}\n" for line in lines]
    if lines:
        expected[0] = expected[0].removeprefix("\ufeff")
    assert [*stream_lines(path, at_once)] == expected


def test_what_is_no_text(tmp_path):
    (tmp_path / "text").write_bytes(b"good\n" * 300_000 + b"\0")
    with pytest.raises(UserError, match="line 300001: byte 1"):
        RunningText.from_files([tmp_path / "text"])


def test_the_plays_are_those_that_everybody_knows():
    """The sum is that of the file of the public repository, and its end."""
    text = plays()
    data = gzip.decompress(Path(text.files[0]).read_bytes())
    assert hashlib.sha256(data).hexdigest().startswith("86c4e6aa9db7c042")
    assert "".join(text.lines()).encode() == data + b"\n"
    assert text.size == len(data) == 1_115_394
    words = sum(
        len(line.split()) for line in text.text_of_subwords(size=10_000)
    )
    assert 1000 < words < 3000
