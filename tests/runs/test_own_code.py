"""Models and tokenizers of one's own: trained, kept, loaded, or refused."""

import io
import json
from dataclasses import replace

import pytest
import sentencepiece
import torch
from own_parts import (
    BUILDS,
    SIZES,
    TOKENIZER,
    Letters,
    Lower,
    sharper,
)
from small_runs import CORPUS, SMALL
from torch import nn

from annotated_transformer.data import Tokenizer
from annotated_transformer.errors import UserError
from annotated_transformer.model import transformer
from annotated_transformer.runs.dry_run import plan
from annotated_transformer.runs.prepare import given_tokenizer
from annotated_transformer.runs.start import Start
from annotated_transformer.runs.train import train
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.system.atomic_files import sha256
from annotated_transformer.translation import Translator

TEXTS = ["abc", "jihg", "aabbccdd"]


def go(output, build=sharper, start=None, **options):
    start = start or Start(model=build(), tokenizer=TOKENIZER)
    return train(output, CORPUS, SMALL, start, device="cpu", **options)


def test_a_run_goes_on_with_the_parts_and_the_subwords_that_began_it(
    tmp_path,
):
    run = go(tmp_path / "run", max_minutes=0.0)
    for model, tokenizer, told in (
        (transformer(SIZES), TOKENIZER, r"began with own\.model = .*Sharper"),
        (sharper(), Lower(TOKENIZER.model), "now it is Lower"),
        (sharper(), None, "began with recipe.tokenizer = given, now it is c"),
    ):
        start = Start(model=model, tokenizer=tokenizer)
        with pytest.raises(UserError, match=told):
            go(run, start=start, resume=True)


@pytest.mark.parametrize("build", BUILDS, ids=lambda x: x.__name__)
def test_a_dry_run_is_one_of_the_model_that_is_given(build):
    start = Start(model=build(), tokenizer=TOKENIZER)
    first = plan(SMALL, CORPUS, start, device="cpu").partition("\n")[0]
    count = sum(x.numel() for x in build().parameters())
    assert first.split() == ["parameters", f"{count:,}"]


class Norm(nn.LayerNorm):
    pass


@pytest.mark.parametrize("build", BUILDS, ids=lambda x: x.__name__)
def test_a_model_of_ones_own_comes_back_from_its_folder(tmp_path, build):
    """Without a training of ours; its card says what it needs."""
    model = build().eval()
    save_model(tmp_path / "m", model, TOKENIZER)
    found, _, history = load_model(tmp_path / "m", model=build())
    ids = torch.tensor([[5, 6, 2]])
    assert torch.equal(found(ids, ids), model(ids, ids))
    assert history is None and not found.training
    assert BUILDS[build] in (tmp_path / "m" / "README.md").read_text()
    for wrong in (None, transformer(SIZES), transformer(SIZES, norm=Norm)):
        with pytest.raises(UserError, match=BUILDS[build]) as told:
            load_model(tmp_path / "m", model=wrong)
        assert "\n" not in str(told.value)


def test_weights_go_on_from_those_of_the_model(tmp_path):
    first = go(tmp_path / "first")
    model, tokenizer, _ = load_model(first, model=sharper())
    before = [x.clone() for x in model.parameters()]
    recipe = replace(SMALL, train=replace(SMALL.train, peak_lr=1e-9))
    start = Start(model=model, tokenizer=tokenizer)
    second = train(tmp_path / "second", CORPUS, recipe, start)
    assert all(map(torch.equal, model.parameters(), before))
    again, *_ = load_model(second, model=sharper())
    for one, other in zip(model.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)


def with_buffer():
    model = sharper()
    model.encoder.norm.register_buffer("mean", torch.zeros(8))
    return model


REFUSED = {
    "double": (lambda: sharper().double(), "float64, .* model.float()"),
    "buffer": (with_buffer, r"keeps encoder\.norm\.mean beside"),
    "size": (lambda: sharper(replace(SIZES, vocab_size=99)), "99 logits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_cannot_be_trained(tmp_path, name):
    build, told = REFUSED[name]
    with pytest.raises(UserError, match=told):
        go(tmp_path / "run", build)


# Tokenizers

RECIPE = replace(SMALL, tokenizer="bpe")
OURS = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}


@pytest.fixture
def learned(tmp_path):
    """Train a sentencepiece model as its own manual does; give its path."""

    def learn(**options):
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(source for source, _ in CORPUS.train),
            model_writer=model,
            vocab_size=30,
            minloglevel=2,
            **options,
        )
        path = tmp_path / "own.model"
        path.write_bytes(model.getvalue())
        return path

    return learn


@pytest.mark.parametrize("as_path", [True, False])
def test_a_given_tokenizer_is_that_of_the_model(as_path, learned, tmp_path):
    path = learned(**OURS)
    given = path if as_path else Tokenizer(path.read_bytes())
    folder = train(tmp_path / "run", CORPUS, RECIPE, Start(tokenizer=given))
    assert (folder / "tokenizer.model").read_bytes() == path.read_bytes()
    about = json.loads((folder / "run.json").read_text())
    assert about["tokenizer_sha256"] == sha256(path)
    recipe = about["recipe"]
    assert (recipe["tokenizer"], recipe["vocab_size"]) == ("given", 30)
    assert recipe["model"]["vocab_size"] == 30
    pieces = sentencepiece.SentencePieceProcessor(str(path))
    translator = Translator.load(folder)
    assert translator.tokenizer.encode("abc") == [*pieces.encode("abc"), 2]
    # and a training that begins with this model goes on with its subwords
    longer = train(tmp_path / "next", CORPUS, RECIPE, Start(folder))
    assert (longer / "tokenizer.model").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "'pad_id': -1, 'bos_id': 1, 'eos_id': 2, 'unk_id': 0"),
        (OURS | {"eos_id": 3, "unk_id": 2}, "'eos_id': 3, 'unk_id': 2"),
    ],
)
def test_reserved_ids_are_the_packages(options, told, learned, tmp_path):
    with pytest.raises(UserError, match=told) as refused:
        start = Start(tokenizer=learned(**options))
        train(tmp_path / "run", CORPUS, RECIPE, start)
    assert str(OURS) in str(refused.value)


def test_what_does_not_go_with_a_given_tokenizer(learned, tmp_path):
    given = {"tokenizer": learned(model_type="bpe", **OURS)}
    for recipe, options, told in (
        (RECIPE, {**given, "folder": "multi30k-en-de"}, "subwords of its own"),
        (RECIPE, {**given, "new_subwords": True}, "leave it out"),
        (replace(RECIPE, tokenizer="given"), {}, "pass the tokenizer"),
    ):
        with pytest.raises(UserError, match=told):
            train(tmp_path / "run", CORPUS, recipe, Start(**options))


@pytest.mark.parametrize("own", [Letters(), Lower(TOKENIZER.model)])
def test_a_tokenizer_of_ones_own(tmp_path, own):
    start = Start(tokenizer=own)
    folder = train(tmp_path / "run", CORPUS, SMALL, start)
    assert (folder / "tokenizer.model").read_bytes() == own.model
    with pytest.raises(UserError, match="tokenizer"):
        train(folder, CORPUS, SMALL, resume=True)
    translator = Translator.load(folder, tokenizer=own)
    assert len(translator(TEXTS)) == len(TEXTS)
    maps, *sides = translator.attention("abc", "ab")
    assert sides == [[*own.split(x), "</s>"] for x in ("abc", "ab")]
    assert maps.cross[0].shape[-2:] == tuple(map(len, sides[::-1]))
    for wrong in (None, TOKENIZER, Letters("abcdefghijk")):
        with pytest.raises(UserError, match=type(own).__qualname__):
            Translator.load(folder, tokenizer=wrong)


def mine(*bases, **changes):
    return type("Mine", bases or (Letters,), changes)()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "is a dict; pass a Tokenizer"),
        ("nothing", "nothing: no sentencepiece"),
        (b"", "own.model: no sentencepiece"),
        (b"a text\n", "own.model: no sentencepiece"),
        (
            mine(object),
            "is a Mine; .* inherits from Tokenizer, with __len__, encode",
        ),
        (
            mine(encode=lambda self, text: [4, 5]),
            r"\[4, 5\]: it must end with",
        ),
        (mine(encode=lambda self, text: [99, 2]), "from 3 .* to 13"),
    ],
)
def test_what_is_no_tokenizer(wrong, told, tmp_path):
    path = tmp_path / "own.model"
    if isinstance(wrong, bytes):
        path.write_bytes(wrong)
        wrong = path
    with pytest.raises(UserError, match=told) as refused:
        given_tokenizer(wrong)
    assert "\n" not in str(refused.value)
