"""From running text to a writer, on the command line, and what is refused."""

import math
import re

import pytest

from annotated_transformer import RunningText, Writer
from annotated_transformer.runs.windows import score_text

SMALL = "--max-steps=4 --checkpoint-every=2 --warmup=1 --batch-tokens=128"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """A file of two hundred small documents."""
    path = tmp_path_factory.mktemp("text") / "dogs.txt"
    words = ("small", "big", "old", "red", "good")
    lines = [f"A {words[i % 5]} dog.\nIt is {i}.\n\n" for i in range(200)]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def folder(command, text, tmp_path_factory):
    """The folder of a model that has learned a little from them."""
    made = tmp_path_factory.mktemp("run") / "dogs"
    train = ["train", made, text, "--task", "text", *SMALL.split()]
    assert command(*train)[0] == 0
    return made


def test_it_is_trained_writes_and_scores(command, text, folder):
    status, out, _ = command("perplexity", folder, text)
    found = dict(re.findall(r"^(.+?)  +(\S+)$", out, re.M))
    writer = Writer.load(folder)
    expected = score_text(
        writer.model, writer.tokenizer, RunningText.from_files([text])
    )
    assert status == 0 and int(found["bytes"]) == text.stat().st_size
    assert float(found["perplexity per token"]) == pytest.approx(
        expected.perplexity, rel=1e-3
    )
    per_byte = 2 ** float(found["bits per byte"])
    assert float(found["perplexity per byte"]) == pytest.approx(
        per_byte, rel=1e-3
    )
    assert 1 < math.exp(float(found["nats per token"])) < 100
    options = ["--prompt=A dog", "--max-tokens=9", "--seed=3"]
    status, out, _ = command("generate", folder, "--number=3", *options)
    texts = out.split("---\n")
    expected = writer(["A dog"] * 3, max_new_tokens=9, seed=3)
    assert [x.removesuffix("\n") for x in texts] == [
        x.removesuffix("\n") for x in expected
    ]
    assert all(x.startswith("A dog") for x in texts) and len({*texts}) > 1


def test_prompts_of_any_length_and_the_end_of_a_document(folder):
    """Alone or among others, the surest text is the same."""
    writer = Writer.load(folder)
    prompts = ["A big", "", "A small", "A dog", "It is " * 40]
    together = writer(prompts, max_new_tokens=8, temperature=0.0)
    alone = [writer(x, max_new_tokens=8, temperature=0.0) for x in prompts]
    assert together == alone
    assert [
        x[: len(y)] for x, y in zip(alone, prompts, strict=True)
    ] == prompts
    whole = writer([""] * 40, max_new_tokens=40, seed=0)
    ended = writer([""] * 40, max_new_tokens=40, seed=0, stop=True)
    assert any("\n\n" in x.strip("\n") or x.startswith("\n") for x in whole)
    for some, first in zip(whole, ended, strict=True):
        assert some.startswith(first)


def test_letters_of_a_prompt_that_were_never_seen_are_said(
    command, text, folder
):
    words = "the model has never seen z§; if it reads letters"
    options = ["--max-tokens=1", "--seed=3"]
    status, _, said = command("generate", folder, "--prompt=A z§§z", *options)
    assert status == 0 and words in said
    assert command("generate", folder, "--prompt=A dog", *options)[2] == ""
    card = (folder / "README.md").read_text()
    letters = card.partition("included:\n\n    ")[2].partition("\n")[0]
    assert {*letters} == {*text.read_text()} - {" ", "\n"}
