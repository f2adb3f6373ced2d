"""Subwords that were learned elsewhere: taken as they are, or refused."""

import io
import json
from dataclasses import replace

import pytest
import sentencepiece
from small_runs import CORPUS, SMALL

from annotated_transformer import Tokenizer, Translator, UserError, train
from annotated_transformer.system.atomic_files import sha256

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
    folder = train(tmp_path / "run", CORPUS, RECIPE, tokenizer=given)
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
    longer = train(tmp_path / "next", CORPUS, RECIPE, start=folder)
    assert (longer / "tokenizer.model").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "'pad_id': -1, 'bos_id': 1, 'eos_id': 2, 'unk_id': 0"),
        (OURS | {"bos_id": -1}, "'bos_id': -1"),
        (OURS | {"eos_id": 3, "unk_id": 2}, "'eos_id': 3, 'unk_id': 2"),
    ],
)
def test_reserved_ids_are_the_packages(options, told, learned, tmp_path):
    with pytest.raises(UserError, match=told) as refused:
        train(tmp_path / "run", CORPUS, RECIPE, tokenizer=learned(**options))
    assert str(OURS) in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"a text\n", b"\0" * 100, None])
def test_a_file_that_is_no_tokenizer(content, tmp_path):
    path = tmp_path / "own.model"
    if content is not None:
        path.write_bytes(content)
    for wrong in (path, str(path)):
        with pytest.raises(UserError, match="own.model: no sentencepiece"):
            train(tmp_path / "run", CORPUS, RECIPE, tokenizer=wrong)


def test_what_does_not_go_with_a_given_tokenizer(learned, tmp_path):
    given = {"tokenizer": learned(model_type="bpe", **OURS)}
    for recipe, options, told in (
        (RECIPE, {**given, "start": "multi30k-en-de"}, "subwords of its own"),
        (RECIPE, {**given, "new_subwords": True}, "leave it out"),
        (replace(RECIPE, tokenizer="given"), {}, "pass the tokenizer"),
    ):
        with pytest.raises(UserError, match=told):
            train(tmp_path / "run", CORPUS, recipe, **options)
