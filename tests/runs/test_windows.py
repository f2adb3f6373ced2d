"""Running text in windows: every token in its place, and scored by a loop."""

import math
import re
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.running_text import RunningText
from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.modern import MODERN
from annotated_transformer.runs.prepare import prepare
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.runs.train import encode_corpus
from annotated_transformer.runs.windows import (
    TextWindows,
    score_text,
    token_ids,
)
from annotated_transformer.writing import (
    LanguageModel,
    LanguageModelConfig,
    Writer,
)

TEXT = "  He  saw\tit.\n\nA second\ndocument, with a é\n\n\nand a third\n"


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text(TEXT)
    return RunningText.from_files([tmp_path / "text"])


@pytest.fixture(params=["char", "bpe"])
def tokenizer(request):
    lines = TEXT.splitlines()
    return train_tokenizer(lines, 34, request.param, False, running=True)


def writer_of(tokenizer, **sizes):
    sizes = {"d_model": 16, "d_ff": 24, "heads": 2, "layers": 2} | sizes
    torch.manual_seed(0)
    config = LanguageModelConfig(len(tokenizer), **sizes, **MODERN)
    return Writer(LanguageModel(config), tokenizer)


def test_a_text_is_read_line_by_line(tokenizer):
    """As it would be read in one piece."""
    whole = tokenizer.pieces.encode(TEXT)
    lines = TEXT.splitlines(keepends=True)
    assert whole == [i for x in lines for i in tokenizer.pieces.encode(x)]


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("length", [1, 7, 10, 49])
def test_windows_in_order_ask_for_every_token_once(length, rows):
    ids = np.arange(50, dtype=np.uint16)
    batches = [*TextWindows(ids, length, rows)]
    inputs = torch.cat([x.inputs.flatten() for x in batches])
    targets = torch.cat([x.targets for x in batches])
    assert inputs.tolist() == [*range(49)]
    assert targets.tolist() == [*range(1, 50)]
    assert all(x.labels.size(0) <= rows for x in batches)


def test_a_batch_follows_from_the_seed_and_its_number():
    windows = TextWindows(np.arange(500, dtype=np.uint16), 20, 4, seed=3)
    first = [*islice(windows.batches(), 9)]
    again = [*islice(windows.batches(2, 3), 3)]
    for a, b in zip(first[2::3], again, strict=True):
        assert torch.equal(a.inputs, b.inputs)
    assert not torch.equal(first[0].inputs, first[1].inputs)
    for batch in first:
        assert batch.source.shape == (4, 0) and batch.tokens == 80
        assert torch.equal(batch.labels, batch.inputs + 1)
    starts = {x.inputs[i, 0].item() for x in first for i in range(4)}
    assert min(starts) < 100 and max(starts) > 400


def test_a_score_is_a_loop(text, tokenizer):
    writer = writer_of(tokenizer, max_length=9)
    found = score_text(writer.model, tokenizer, text)
    ids = token_ids(text, tokenizer).tolist()
    nats = 0.0
    with torch.no_grad():
        for start in range(0, len(ids) - 1, 9):
            some = torch.tensor([ids[start : start + 10]])
            logits = writer.model.next_logits(some[:, :-1])[0]
            nats += F.cross_entropy(logits, some[0, 1:], reduction="sum")
    assert found.tokens == len(ids) - 1 and found.bytes == len(TEXT.encode())
    assert found.loss == pytest.approx(nats.item() / found.tokens)
    assert found.perplexity == pytest.approx(math.exp(found.loss))
    bits = nats.item() / math.log(2) / len(TEXT.encode())
    assert found.bits_per_byte == pytest.approx(bits)


def test_unknown_tokens_are_counted(text):
    few = train_tokenizer(["docu ment"], 14, "char", False, running=True)
    found = score_text(writer_of(few).model, few, text)
    runs = re.findall(r"[^document \n]+", TEXT)  # each is one token
    assert found.unknown == len(runs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "the training text has .* tokens, and a window has 128"),
        ({"train.max_length": 40}, "the held-out text has"),
        ({"labs.noise": 1}, "`noise` is for sentence pairs"),
        ({"normalize": "true"}, "`normalize` is for sentence pairs"),
        ({"tokenizer": "word"}, "`tokenizer='word'` is for sentence pairs"),
    ],
)
def test_a_text_that_cannot_be_learned_from(text, changes, message):
    settings = [f"{name}={value}" for name, value in changes.items()]
    recipe = RECIPES["text"].with_fields(settings)
    with pytest.raises(UserError, match=message):
        ready = prepare(recipe, text)
        encode_corpus(text, ready.tokenizer, ready.recipe)


def test_text_and_model_must_fit(text):
    pairs = Corpus.from_pairs([("a", "b")], [("a", "b")])
    with pytest.raises(UserError, match="language model from running text"):
        prepare(RECIPES["text"], pairs)
    sizes = RECIPES["builtin"]
    with pytest.raises(UserError, match="learns from sentence pairs"):
        prepare(replace(sizes, normalize=False), text)


def test_one_long_line_is_refused_and_the_advice_helps(tmp_path):
    path, recipe = tmp_path / "text", RECIPES["text"]
    path.write_text("A dog sees a cat. The cat sees no dog. " * 200)
    for share in (0.1, 0.9):
        text = RunningText.from_files([path], held_out=share)
        ready = prepare(recipe, text)
        with pytest.raises(UserError, match="break it into lines, one for"):
            encode_corpus(text, ready.tokenizer, ready.recipe)
    path.write_text(path.read_text().replace(". ", ".\n"))
    text = RunningText.from_files([path])
    ready = prepare(recipe, text)
    learned, held_out, *_ = encode_corpus(text, ready.tokenizer, ready.recipe)
    assert len(learned.ids) > 8 * len(held_out.ids) > 1000
