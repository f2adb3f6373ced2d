"""A packed model: half as large, with its scores and its search."""

import json
import sys
from dataclasses import asdict

import pack_model
import pytest
import torch
from histories import HISTORY
from pack_model import pack
from tiny_models import tiny_folder

from annotated_transformer.errors import UserError
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.translation import Translator

SCORES = {"bleu": 38.126, "bleu_lowercase": 39, "bleu_moses": 39.1, "chrf": 60}
SEARCH = {"beam": 3, "alpha": 1.5, "no_repeat": 2}
KNOWN = asdict(HISTORY)


@pytest.fixture
def folder(tmp_path):
    return tiny_folder(tmp_path)


def write_record(folder, **changes):
    """Write a record of the model."""
    path = folder.parent / "record.json"
    scores = {"test": SCORES | SEARCH}
    path.write_text(json.dumps({**KNOWN, "scores": scores, **changes}))
    return path


def test_packed_weights_are_the_nearest_half_precision_numbers(folder):
    packed = folder.parent / "packed"
    pack(packed, folder)
    before, tokenizer, _ = load_model(folder)
    after, same, history = load_model(packed)
    assert history == HISTORY and same.model == tokenizer.model
    for x, y in zip(before.parameters(), after.parameters(), strict=True):
        assert y.dtype == torch.float32
        assert torch.equal(x.detach().half().float(), y.detach())
    sizes = [
        (f / "model.safetensors").stat().st_size for f in (folder, packed)
    ]
    assert sizes[1] < 0.7 * sizes[0]
    with pytest.raises(UserError, match="exists already"):
        pack(packed, folder)


def test_a_packed_model_searches_as_it_was_scored(folder):
    curve = [{"step": 9, "note": "x" * 2000}] * 1000  # of a long training
    record = write_record(folder, curve=curve)
    pack(folder.parent / "packed", folder, record)
    translator = Translator.load(folder.parent / "packed")
    assert {name: getattr(translator, name) for name in SEARCH} == SEARCH
    plain = Translator.load(folder)
    assert (plain.beam, plain.alpha, plain.no_repeat) == (5, 0.6, 0)
    texts = ["a small dog", "a dog"]
    as_scored = translator.n_best(texts, 3)
    assert as_scored == translator.n_best(texts, 3, **SEARCH)
    assert as_scored != translator.n_best(texts, 3, alpha=0.6)
    assert as_scored != translator.n_best(texts, 3, no_repeat=0)
    card = (folder.parent / "packed/README.md").read_text("utf-8")
    assert "| test, bleu | 38.13 |" in card and "| updates | 7 |" in card
    history = load_model(folder.parent / "packed")[2]
    assert asdict(history.search) == SEARCH


def test_a_packed_model_knows_its_usual_text(folder):
    valid, learned = (folder.parent / name for name in ("valid", "learned"))
    valid.write_text("a dog\nsmall dogs\n" * 20 + "a\n")
    learned.write_text("a small dog\n" * 97 + "A dog. A dog.\n")
    packed = folder.parent / "packed"
    pack(packed, folder, valid=valid, learned=[learned, valid])
    history = load_model(packed)[2]
    found = Translator.load(folder).n_best(valid.read_text().splitlines(), 1)
    usual = history.result.usual_confidence
    below = sum(best[0].confidence < usual - 1e-3 for best in found)
    assert below <= 0.05 * 41
    assert any(abs(x[0].confidence - usual) < 0.05 for x in found)
    lines = history.data.lines
    assert lines.single == round(138 / 139, 4) and lines.longest == 13
    assert Translator.load(packed).split == "en"
    assert Translator.load(folder).split == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "of another"},
        {"scores": {}},
        {"scores": {"a": SCORES | SEARCH, "b": SCORES | SEARCH | {"beam": 9}}},
    ],
)
def test_a_record_that_is_none_of_the_model(folder, changes):
    record = write_record(folder, **changes)
    with pytest.raises(UserError, match="record.json: "):
        pack(folder.parent / "packed", folder, record)
    assert not (folder.parent / "packed").exists()


def test_what_is_too_large_is_not_packed(folder):
    model, tokenizer, _ = load_model(folder)
    with torch.no_grad():
        next(model.parameters())[0] = 7e4
    save_model(folder, model, tokenizer)
    with pytest.raises(UserError, match="model: .* beyond 65,504"):
        pack(folder.parent / "packed", folder)
    assert not (folder.parent / "packed").exists()


def test_the_tool_packs(folder, monkeypatch):
    packed = folder.parent / "packed"
    words = ["pack_model.py", str(packed), str(folder)]
    monkeypatch.setattr(sys, "argv", words)
    pack_model.main()
    assert isinstance(Translator.load(packed)("a small dog"), str)
    with pytest.raises(SystemExit, match="error: .*exists already"):
        pack_model.main()
