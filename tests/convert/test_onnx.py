"""Conversion to ONNX: the page's search in numpy finds what ours finds."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace

import chapters
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import config
from tiny_models import PAIRED, TINY
from torch_twins import lively

import annotated_transformer as at
from annotated_transformer.convert.onnx import save_onnx
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import copy_task, pad, train_tokenizer
from annotated_transformer.decoding import beam_decode
from annotated_transformer.errors import UserError
from annotated_transformer.model import Transformer, transformer
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.model_folder import load_model

sys.path.insert(0, str(chapters.BOOK))
from translate_onnx import Translator

TOKENIZER = train_tokenizer([x for x, _ in copy_task(50)], 16, "char")
LONGEST = 25
tokens = st.integers(4, len(TOKENIZER) - 1)


@contextmanager
def unchecked():
    """No checks of shapes while a graph is traced: lengths are symbols."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "jaxtyping_disable", True)
        yield


@pytest.fixture(scope="module")
def folder(command, tmp_path_factory):
    """What the command writes for a model of the package."""
    folder = tmp_path_factory.mktemp("onnx") / "pronouns"
    with unchecked():
        ended = command("export", "pronouns", folder, "--to", "onnx")
    assert (ended.status, ended.err) == (0, "")
    return folder


@pytest.fixture(scope="module")
def random_model():
    """A model of many parts, which seldom ends by itself."""
    sizes = replace(
        TINY["transformer"],
        vocab_size=len(TOKENIZER),
        positions="learned",
        max_length=LONGEST,
        kv_heads=1,
        d_k=3,
    )
    torch.manual_seed(0)
    return lively(transformer(sizes)).float()


@pytest.fixture(scope="module")
def random_translator(random_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx") / "random"
    with unchecked():
        save_onnx(folder, random_model, TOKENIZER)
    return Translator(folder, LONGEST)


def differing(
    model: Transformer, theirs: Translator, source: torch.Tensor, **options
) -> int:
    """How many outputs are others; their scores must be the same, too."""
    ours = beam_decode(model, source, **options)
    found = theirs.search(source.numpy(), **options)
    for (best,), (score, _) in zip(ours, found, strict=True):
        assert score == pytest.approx(best.score, abs=1e-4)
    both = zip(ours, found, strict=True)
    return sum(best.tokens != tokens for (best,), (_, tokens) in both)


@pytest.mark.parametrize(("size", "number"), [(1, 12), (32, 64)])
@pytest.mark.parametrize("width", [1, 5])
def test_the_search_of_the_page_finds_the_same_tokens(
    folder, size, number, width
):
    model, tokenizer, _ = load_model("pronouns")
    theirs = Translator(folder)
    texts = [text for text, _ in builtin_corpus(train=number).train]
    ids = [tokenizer.encode(text) for text in texts]
    for start in range(0, number, size):
        source = pad(ids[start : start + size])
        assert not differing(model, theirs, source, width=width, no_repeat=3)


@settings(max_examples=15)
@given(
    st.lists(st.lists(tokens, min_size=1, max_size=LONGEST), min_size=1),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.6, 2.0]),
    st.integers(0, 3),
)
def test_rules_of_the_search_are_ours(
    random_model, random_translator, rows, width, alpha, no_repeat
):
    options = {"width": width, "alpha": alpha, "no_repeat": no_repeat}
    assert not differing(random_model, random_translator, pad(rows), **options)


def test_the_example_of_the_card_runs_without_pytorch(folder):
    card = (folder / "README.md").read_text("utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```$", card, re.M | re.S)
    example = example.replace("A dog runs.", "The dog is hungry.")
    example += "import sys; assert 'torch' not in sys.modules"
    said = subprocess.check_output(
        [sys.executable, "-c", example],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(chapters.BOOK)},
        text=True,
    )
    expected = at.Translator.load("pronouns")(["The dog is hungry."])
    assert said == f"{expected}\n"


@pytest.mark.parametrize("name", ["LanguageModel", *PAIRED[2:]])
def test_only_a_transformer_is_exported(tmp_path, name):
    with pytest.raises(UserError, match="only a Transformer"):
        save_onnx(tmp_path / "onnx", build(TINY[name]), TOKENIZER)
    assert not any(tmp_path.iterdir())
