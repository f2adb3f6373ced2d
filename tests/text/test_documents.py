"""Running text is read in one way: from a file, as a prompt, written again."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.corpora.running_text import RunningText, plays
from annotated_transformer.data import train_tokenizer
from annotated_transformer.embedding import EOS, UNK
from annotated_transformer.errors import UserError
from annotated_transformer.runs.windows import token_ids
from annotated_transformer.text.documents import DocumentReader
from annotated_transformer.writing import Writer, continue_rows

MARKS = ["", "* * *", "b"]
KINDS = {
    kind: train_tokenizer(
        ["ab ba* \tb", "abba ** é", "\r\ufeff "], 24, kind, False, running=True
    )
    for kind in ("char", "bpe")
}
READERS = st.builds(
    DocumentReader,
    st.sampled_from([*KINDS.values()]),
    st.sampled_from(MARKS),
)
TEXTS = st.lists(st.sampled_from([*"abé*\n\t ", *MARKS, "\n\n", "\r\n"])).map(
    "".join
)


@given(READERS, st.sampled_from(["", "\ufeff"]), TEXTS)
def test_a_prompt_is_read_as_the_file_that_begins_so(
    tmp_path_factory, reader, first, prompt
):
    path = tmp_path_factory.mktemp("text") / "text"
    path.write_bytes(f"{first}{prompt}\né".encode())  # its last line is ended
    text = RunningText.from_files([path], reader.mark)
    ids = token_ids(text, reader.tokenizer).tolist()
    assert [*reader.ids(f"{first}{prompt}\né\n"), EOS] == ids
    # the same of a line that goes on, though it would be the mark if it ended
    place = prompt.rfind("\n") + 1
    whole, last = prompt[:place], prompt[place:].removesuffix("\r")
    ids = reader.ids(whole) + reader.tokenizer.encode(last)[:-1]
    assert reader.ids(prompt) == ids


@given(READERS, TEXTS)
def test_a_text_comes_back_as_it_is_read(reader, text):
    """With the marks without blanks, and to the same ids."""
    ids = reader.ids(text)
    again = reader.text(ids[1:])
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    expected = [
        reader.mark if line.strip() == reader.mark else line
        for line in lines[:-1]
    ]
    assert again == "\n".join([*expected, lines[-1]])
    assert reader.ids(again) == ids


@given(READERS, TEXTS, st.data())
def test_whatever_a_model_writes_is_read_as_the_same_text(reader, text, data):
    """Of any ids, in pieces of any size, after any text."""
    known = st.integers(UNK + 1, len(reader.tokenizer) - 1)
    ids = data.draw(st.lists(known | st.just(EOS)))
    first = data.draw(st.integers(0, len(ids)))
    part = reader.text(ids[:first], text)
    whole = text + part + reader.text(ids[first:], text + part)
    assert whole == text + reader.text(ids, text)
    lines = whole.split("\n")
    ended = sum(line.strip() == reader.mark for line in lines[:-1])
    assert ended >= ids.count(EOS)  # each has a line of its own
    assert reader.ids(whole).count(EOS) == 1 + ended


def test_a_long_text_of_empty_documents():
    """As many as a call of itself for each would not allow."""
    reader = DocumentReader(KINDS["char"])
    assert reader.text([EOS] * 5000) == "\n" * 5000


@given(READERS, st.text(st.sampled_from("abéxyßz\n")))
def test_letters_that_were_never_seen(reader, text):
    told = reader.unknown(text)
    assert told == "".join(x for x in dict.fromkeys(text) if x in "xyzß")


@pytest.mark.parametrize("mark", [" ", " * *", "*\t", "*\n*", "\n", "\xa0*"])
def test_a_mark_that_no_line_can_be(mark, tmp_path):
    (tmp_path / "text").write_text("a\n")
    with pytest.raises(UserError, match="without the blanks at its ends"):
        RunningText.from_files([tmp_path / "text"], mark)


def test_what_a_model_has_written_is_read_again_as_it_was_drawn():
    """By the model of the plays, over its context and the ends of speeches."""
    writer = Writer.load("plays")
    prompt = "ROMEO:\nO love!\n\nJULIET:\n"
    row = writer.reader.ids(prompt)
    assert row.count(EOS) == 2
    torch.manual_seed(0)
    (drawn,) = continue_rows(writer.model, [row], 500)
    written = writer(prompt, max_new_tokens=500, seed=0)
    assert drawn.count(EOS) > 1
    assert writer.reader.ids(written) == row + drawn


@torch.inference_mode()
def test_a_speech_after_a_blank_line_is_as_likely_as_in_the_text():
    """Read as letters, the blank line would cost a third of a nat a letter."""
    writer = Writer.load("plays")
    speeches = "".join(plays().lines(held_out=True)).split("\n\n")[:40]
    nats = []
    for read in (writer.reader.ids, lambda x: writer.tokenizer.encode(x)[:-1]):
        total, count = 0.0, 0
        for before, speech in pairwise(speeches):
            begun = read(f"{before}\n\n")[-63:]
            ids = [*begun, *writer.tokenizer.encode(speech[:60])[:-1]]
            log_p = writer.model.next_logits(torch.tensor([ids[:-1]]))[0]
            rows = log_p.log_softmax(-1)[len(begun) - 1 :]
            asked = torch.tensor(ids[len(begun) :])
            total -= rows.gather(1, asked[:, None]).sum().item()
            count += len(asked)
        nats.append(total / count)
    assert nats[0] < nats[1] - 0.25
