"""Folders for other programs: written, loaded there, and outputs compared."""

import ast
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # what is loaded here is on this disk

import ctranslate2
import pytest
import torch
from builtin_text import LINES
from histories import HISTORY
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_text import odd_strings
from own_sentences import OWN
from refusal import refused
from sentencepiece import SentencePieceProcessor
from tiny_models import TINY
from torch_twins import lively
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
)

from annotated_transformer import Translator, Writer
from annotated_transformer.convert import translate_onnx
from annotated_transformer.convert.export import export_model
from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import Tokenizer, pad, train_tokenizer
from annotated_transformer.decoding import beam_decode
from annotated_transformer.embedding import UNK
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig, transformer
from annotated_transformer.modern import MODERN
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.history import Search
from annotated_transformer.storage.model_folder import load_model, save_model

pytestmark = pytest.mark.unchecked

NAME = "pronouns"  # exported to each program
TEXTS = [text for text, _ in builtin_corpus(train=24).train]
TEXT = train_tokenizer(TEXTS, 60)
LONGEST = 120  # tokens, of the random model


def huggingface(folder, texts, beam):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder)
    batch = tokenizer(texts, return_tensors="pt", padding=True)
    output = model.generate(**batch, num_beams=beam)
    return tokenizer.batch_decode(output, skip_special_tokens=True)


def ct2(folder, texts, beam):
    model = ctranslate2.Translator(str(folder), intra_threads=1)
    ours = Tokenizer((folder / "tokenizer.model").read_bytes())
    rows = [[*ours.split(text), "</s>"] for text in texts]
    found = model.translate_batch(
        rows, beam_size=beam, no_repeat_ngram_size=3, length_penalty=0.45
    )
    return [ours.pieces.decode(x.hypotheses[0]) for x in found]


def onnx(folder, texts, beam):
    translator = translate_onnx.Translator(folder)
    return translator(texts, width=beam, no_repeat=3)


PROGRAMS = {"huggingface": huggingface, "ctranslate2": ct2, "onnx": onnx}


@pytest.fixture(scope="module")
def random_folder(tmp_path_factory):
    """A model of many parts, which seldom ends by itself."""
    torch.manual_seed(0)
    sizes = ModelConfig(len(TEXT), 1, 8, 8, 2, kv_heads=1, d_k=3)
    sizes = replace(sizes, positions="learned", max_length=LONGEST)
    folder = tmp_path_factory.mktemp("random") / "random"
    model = lively(transformer(sizes)).float()
    data = replace(HISTORY.data, name=NAME)
    history = replace(HISTORY, data=data, search=Search(no_repeat=3))
    save_model(folder, model, TEXT, history)
    return folder


@pytest.fixture(scope="module", params=PROGRAMS)
def exported(request, command, random_folder, tmp_path_factory):
    """A program, a model, and the folder that the command writes of it."""
    folder = tmp_path_factory.mktemp(request.param) / NAME
    model = random_folder if request.param == "onnx" else NAME
    ended = command("export", model, folder, "--to", request.param)
    assert ended == (0, f"{folder}: see its README.md\n", "")
    return request.param, model, folder


def imported(code):
    """What a program imports, by the first part of its name."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module.partition(".")[0])
    return names


@pytest.fixture
def example(monkeypatch, capsys):
    """What the example in a folder's card prints, without our package."""

    def run(folder):
        card = (folder / "README.md").read_text("utf-8")
        (code,) = re.findall(r"^```python\n(.*?)^```$", card, re.M | re.S)
        ours = {"annotated_transformer", *["torch"] * ("onnx" in code)}
        search = Path(translate_onnx.__file__).read_text("utf-8")
        assert imported(code) and not ours & imported(code + search)
        monkeypatch.chdir(folder)
        monkeypatch.syspath_prepend(folder)
        exec(code, {})
        return capsys.readouterr().out

    return run


def test_a_translator_says_the_same(exported, example):
    to, name, folder = exported
    ours = Translator.load(name)
    for beam in (1, 5):
        assert PROGRAMS[to](folder, TEXTS, beam) == ours(TEXTS, beam=beam)
    expected = ours("A dog runs.")
    assert example(folder).strip() in (expected, f"{[expected]}")
    card = (folder / "README.md").read_text("utf-8")
    assert f"# {NAME}: en to de" in card and "checksums" not in card
    if to != "huggingface":  # whose tokenizer is compared below
        pieces = SentencePieceProcessor(str(folder / "tokenizer.model"))
        for text in odd_strings():
            assert pieces.encode_as_pieces(text) == ours.tokenizer.split(text)


@pytest.mark.parametrize("exported", ["onnx"], indirect=True)
@settings(max_examples=12)
@given(
    st.lists(
        st.lists(st.integers(4, len(TEXT) - 1), min_size=1, max_size=LONGEST),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.6, 2.0]),
    st.integers(0, 3),
    st.sampled_from([1.0, 0.5, 1.13]),
)
def test_the_search_in_numpy_finds_the_same_tokens(
    exported, rows, width, alpha, no_repeat, stretch
):
    _, name, folder = exported
    ours, theirs = load_model(name)[0], translate_onnx.Translator(folder)
    options = {"width": width, "alpha": alpha, "no_repeat": no_repeat}
    options["stretch"] = stretch
    expected = beam_decode(ours, pad(rows), **options)
    found = theirs.search(pad(rows).numpy(), **options)
    for (best,), (score, tokens) in zip(expected, found, strict=True):
        assert score == pytest.approx(best.score, abs=1e-4)
        assert tokens == best.tokens
    with pytest.raises(TypeError, match="beam"):
        theirs.search(pad(rows).numpy(), beam=width)
    blank, one, _ = theirs(["", TEXTS[0], " "], width=width)
    assert blank == _ == "" and [one] == theirs(TEXTS[:1], width=width)


def test_ctranslate2_has_the_norm_last_too(tmp_path):
    """Outputs of random weights do not end: each has a limit of its own."""
    sizes = ModelConfig(len(TEXT), 2, 16, 32, 2)
    torch.manual_seed(1)
    model = lively(transformer(sizes)).float()
    export_model(tmp_path / "model", "ctranslate2", model, TEXT)
    ours = Translator(model, TEXT, beam=1, no_repeat=3)(TEXTS)
    found = ct2(tmp_path / "model", TEXTS, 1)
    for mine, theirs in zip(ours, found, strict=True):
        n = min(len(mine), len(theirs), 40)
        assert n > 5 and mine[:n] == theirs[:n]


@pytest.mark.parametrize(("kind", "share"), [("int8", 0.3), ("bfloat16", 0.6)])
def test_smaller_numbers_say_almost_the_same(kind, share, tmp_path):
    """Of what the model has learned to read: of other text it is unsure.

    Processors differ most here: where int8 has no instructions of its own,
    what is added up may be cut off.
    """
    captions = [source for source, _ in OWN]
    model, *others = load_model("multi30k-en-de")
    for name, quantization in (("whole", None), ("small", kind)):
        export_model(
            *(tmp_path / name, "ctranslate2", model, *others),
            quantization=quantization,
        )
    whole, small = tmp_path / "whole", tmp_path / "small"
    sizes = [(x / "model.bin").stat().st_size for x in (small, whole)]
    assert sizes[0] < share * sizes[1]
    exact, found = (ct2(x, captions, 1) for x in (whole, small))
    same = sum(x == y for x, y in zip(exact, found, strict=True))
    assert same >= len(captions) / 2


@pytest.mark.parametrize("to", ["huggingface", "ctranslate2"])
def test_a_language_model_goes_on_alike(to, example, tmp_path):
    ours, folder = Writer.load("plays"), tmp_path / "plays"
    export_model(folder, to, *load_model("plays"))
    prompts = ["ROMEO:\n", "To be, or not"]  # of two lengths
    if to == "huggingface":
        tokenizer = AutoTokenizer.from_pretrained(folder)
        batch = tokenizer(prompts, return_tensors="pt", padding=True)
        model = AutoModelForCausalLM.from_pretrained(folder)
        output = model.generate(**batch, do_sample=False, max_new_tokens=60)
        texts = tokenizer.batch_decode(output, skip_special_tokens=True)
    else:
        rows = [["</s>", *ours.tokenizer.split(text)] for text in prompts]
        found = ctranslate2.Generator(str(folder)).generate_batch(
            rows, max_length=60, include_prompt_in_result=False
        )
        new = ["".join(x.sequences[0]).replace("▁", " ") for x in found]
        texts = [x + y for x, y in zip(prompts, new, strict=True)]
    assert texts == ours(prompts, max_new_tokens=60, temperature=0.0)
    assert example(folder).startswith("A dog")


@pytest.mark.parametrize("name", ["multi30k-en-fr", "plays"])
def test_the_saved_tokenizer_has_the_same_ids_and_text(name, tmp_path):
    """A language model reads the end of another text first."""
    model, ours, _ = load_model(name)
    export_model(tmp_path / "model", "huggingface", model, ours)
    theirs = AutoTokenizer.from_pretrained(tmp_path / "model")
    for text in [*odd_strings(), "<s>", "a</s>b <pad>", *LINES]:
        *ids, end = ours.encode(text)
        whole = [end, *ids] if name == "plays" else [*ids, end]
        assert theirs(text).input_ids == whole, text
        if text in LINES and UNK not in ids:
            assert theirs.decode(ids) == ours.decode(ids) == text


# What cannot go there


class Own(Tokenizer):
    """A tokenizer that no other program knows."""


NORMED = MODERN | {"qk_norm": True}


@pytest.mark.parametrize(
    ("to", "name", "changes", "message"),
    [
        ("huggingface", "recurrent_translator", {}, "RecurrentConfig has"),
        ("huggingface", "transformer", {"positions": "learned"}, "'learned'"),
        ("huggingface", "LanguageModel", {}, "pre_norm = False: "),
        ("huggingface", "LanguageModel", NORMED, "qk_norm = True: "),
        ("ctranslate2", "transformer", {}, "tied = False: .* tied = True"),
        ("onnx", "LanguageModel", {}, "only a Transformer"),
        ("onnx", "convolutional_translator", {}, "only a Transformer"),
    ],
)
def test_models_that_are_only_here_are_refused(
    to, name, changes, message, tmp_path
):
    model = build(replace(TINY[name], **changes))
    with pytest.raises(UserError, match=message):
        export_model(tmp_path / "out", to, model, TEXT)
    with pytest.raises(UserError, match="Own is no tokenizer"):
        export_model(tmp_path / "out", to, model, Own(TEXT.model))
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("to", "module"),
    [
        ("huggingface", "transformers"),
        ("ctranslate2", "ctranslate2.converters.transformers"),
        ("onnx", "onnxscript"),
    ],
)
def test_what_a_command_cannot_do_is_one_line(
    to, module, command, tmp_path, monkeypatch
):
    words = ("export", NAME, tmp_path, "--to", to)
    refused(command(*words), "exists already; choose another name")
    (tmp_path / "file").touch()
    words = ("export", NAME, tmp_path / "file/in", "--to", to)
    refused(command(*words), "file/in cannot be written")
    if to != "ctranslate2":
        refused(command(*words, "--quantization=int8"), "--quantization is")
    monkeypatch.setitem(sys.modules, module, None)
    words = ("export", NAME, tmp_path / "new", "--to", to)
    refused(command(*words), f"pip install 'annotated-transformer[{to}]'")
    assert [x.name for x in tmp_path.iterdir()] == ["file"]
