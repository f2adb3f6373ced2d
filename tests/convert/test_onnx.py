"""The page's search in numpy over ONNX graphs finds what ours finds."""

import sys
from dataclasses import replace

import chapters
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import TINY
from torch_twins import lively
from unchecked import unchecked

from annotated_transformer.convert.export import export_model
from annotated_transformer.data import copy_task, pad, train_tokenizer
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import transformer

sys.path.insert(0, str(chapters.BOOK))
from translate_onnx import Translator

TOKENIZER = train_tokenizer([x for x, _ in copy_task(50)], 16, "char")
LONGEST = 25
tokens = st.integers(4, len(TOKENIZER) - 1)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model of many parts, which seldom ends by itself, here and there."""
    sizes = replace(
        TINY["transformer"],
        vocab_size=len(TOKENIZER),
        pre_norm=False,
        positions="learned",
        max_length=LONGEST,
        kv_heads=1,
        d_k=3,
    )
    torch.manual_seed(0)
    model = lively(transformer(sizes)).float()
    folder = tmp_path_factory.mktemp("onnx") / "random"
    with unchecked():  # lengths are symbols while a graph is traced
        export_model(folder, "onnx", model, TOKENIZER)
    return model, Translator(folder, LONGEST)


@settings(max_examples=12)
@given(
    st.lists(st.lists(tokens, min_size=1, max_size=LONGEST), min_size=1),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.6, 2.0]),
    st.integers(0, 3),
)
def test_the_search_finds_the_same_tokens(
    models, rows, width, alpha, no_repeat
):
    ours, theirs = models
    options = {"width": width, "alpha": alpha, "no_repeat": no_repeat}
    expected = beam_decode(ours, pad(rows), **options)
    found = theirs.search(pad(rows).numpy(), **options)
    for (best,), (score, tokens) in zip(expected, found, strict=True):
        assert score == pytest.approx(best.score, abs=1e-4)
        assert tokens == best.tokens
