"""Conversion to CTranslate2: the same outputs there."""

import sys
from dataclasses import replace

import ctranslate2
import pytest
from exported import CAPTIONS, printed_by_card
from torch_twins import lively

from annotated_transformer import Translator, Writer
from annotated_transformer.convert.ctranslate2 import save_ctranslate2
from annotated_transformer.data import train_tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.storage.model_folder import load_model

SEARCH = {"no_repeat_ngram_size": 3, "length_penalty": 0.45}


def translated(folder, texts, tokenizer, **options):
    """What an exported translator makes of texts."""
    theirs = ctranslate2.Translator(str(folder), intra_threads=1)
    pieces = [[*tokenizer.split(text), "</s>"] for text in texts]
    found = theirs.translate_batch(pieces, **options)
    return [tokenizer.pieces.decode(x.hypotheses[0]) for x in found]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("there") / "captions"
    save_ctranslate2(folder, *load_model("multi30k-en-de"))
    return folder


def test_a_translator_says_the_same(folder):
    ours = Translator.load("multi30k-en-de")
    for beam in (1, 5):
        found = translated(
            folder, CAPTIONS, ours.tokenizer, beam_size=beam, **SEARCH
        )
        assert found == ours(CAPTIONS, beam=beam)
    assert printed_by_card(folder) == f"{ours('A dog runs.')}\n"


@pytest.mark.parametrize("kind", ["int8", "bfloat16"])
def test_smaller_numbers_say_almost_the_same(folder, kind, tmp_path):
    model, tokenizer, about = load_model("multi30k-en-de")
    save_ctranslate2(tmp_path / kind, model, tokenizer, about, kind)
    sizes = [
        (x / "model.bin").stat().st_size for x in (tmp_path / kind, folder)
    ]
    assert sizes[0] < (0.3 if kind == "int8" else 0.6) * sizes[1]
    exact, found = (
        translated(x, CAPTIONS, tokenizer, beam_size=1)
        for x in (folder, tmp_path / kind)
    )
    same = sum(x == y for x, y in zip(exact, found, strict=True))
    assert same >= len(CAPTIONS) / 2


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_random_model_of_either_norm(pre_norm, tmp_path):
    """Post-norm ones start from BOS, not from a vector of zeros."""
    tokenizer = train_tokenizer(CAPTIONS, 80)
    sizes = ModelConfig(len(tokenizer), 2, 16, 32, 2, pre_norm=pre_norm)
    model = lively(transformer(sizes)).float()
    save_ctranslate2(tmp_path / "model", model, tokenizer)
    ours = Translator(model, tokenizer, beam=1)
    texts = [text[:20] for text in CAPTIONS]
    found = translated(tmp_path / "model", texts, tokenizer, beam_size=1)
    for mine, theirs in zip(ours(texts), found, strict=True):
        n = min(len(mine), len(theirs), 40)  # each has a limit of its own
        assert n > 5 and mine[:n] == theirs[:n]


def test_a_language_model_goes_on_alike(tmp_path):
    ours = Writer.load("plays")
    save_ctranslate2(tmp_path / "plays", *load_model("plays"))
    theirs = ctranslate2.Generator(str(tmp_path / "plays"))
    begun = ["</s>", *ours.tokenizer.split("ROMEO:\n")]
    (found,) = theirs.generate_batch(
        [begun], max_length=60, include_prompt_in_result=False
    )
    text = "ROMEO:\n" + "".join(found.sequences[0]).replace("▁", " ")
    assert text == ours("ROMEO:\n", max_new_tokens=60, temperature=0.0)
    assert printed_by_card(tmp_path / "plays").startswith("A dog")


def test_what_cannot_be(folder, monkeypatch, tmp_path):
    model, tokenizer, _ = load_model("pronouns")
    with pytest.raises(UserError, match="captions: exists already"):
        save_ctranslate2(folder, model, tokenizer)
    learned = transformer(replace(model.config, positions="learned"))
    with pytest.raises(UserError, match="positions = 'learned'"):
        save_ctranslate2(tmp_path / "new", learned, tokenizer)
    loaders = "ctranslate2.converters.transformers"
    monkeypatch.setitem(sys.modules, loaders, None)
    with pytest.raises(UserError, match=r"pip install .*\[ctranslate2\]"):
        save_ctranslate2(tmp_path / "new", model, tokenizer)
    assert not (tmp_path / "new").exists()
