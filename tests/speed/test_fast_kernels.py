"""Faster products and attention change no result."""

import json
import pickle
import subprocess
import sys
from copy import deepcopy

import pytest
import torch

from annotated_transformer import Translator
from annotated_transformer.convert.torch_layers import to_torch
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import transformer
from annotated_transformer.optimizer import adam, set_rate
from annotated_transformer.speed.matrix_products import weights_at_rest
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.storage.pretrained import find_model
from annotated_transformer.translation import Translation


@torch.no_grad()
def test_float32_is_the_same_product(fast, model, many):
    torch.testing.assert_close(fast(many, many), model(many, many))


def test_float32_asks_another_library(fast, model, many):
    """Otherwise the test above would compare a thing with itself."""
    with torch.no_grad(), torch.profiler.profile() as seen:
        fast(many, many)
    names = {event.key for event in seen.key_averages()}
    assert "mkldnn::_linear_pointwise" in names


def test_bfloat16_is_left_alone(fast, model, many):
    found = []
    for one in (fast, model):
        with torch.autocast("cpu", torch.bfloat16):
            found.append(one(many, many))
    assert torch.equal(*found)


def test_weights_and_gradients_stay(fast, model, many):
    assert fast.state_dict().keys() == model.state_dict().keys()
    for one in (fast, model):
        one(many, many).square().mean().backward()
    for ours, theirs in zip(
        fast.parameters(), model.parameters(), strict=True
    ):
        torch.testing.assert_close(ours.grad, theirs.grad)


@torch.no_grad()
def test_a_copy_multiplies_by_its_own_weights(fast, model, many):
    copy = deepcopy(fast)
    torch.testing.assert_close(copy(many, many), fast(many, many))
    for weight in fast.parameters():
        weight.zero_()
    assert copy(many, many).abs().max() > 1e-3


def test_an_update_is_seen_by_what_comes_after(fast, model, many):
    """The fused optimizer changes weights without a trace in the tensors."""
    optimizer = adam(fast.parameters())
    set_rate(optimizer, 0.01)
    seen = []
    for _ in range(3):
        plain = transformer(model.config).eval()
        plain.load_state_dict(fast.state_dict())
        with torch.no_grad():
            seen.append(fast(many, many))
            torch.testing.assert_close(seen[-1], plain(many, many))
        with weights_at_rest():
            found = beam_decode(fast, many, 2)
        for ours, theirs in zip(
            found, beam_decode(plain, many, 2), strict=True
        ):
            close = pytest.approx(theirs[0].log_probability, rel=1e-3)
            assert ours[0].log_probability == close
        fast(many, many).square().mean().backward()
        optimizer.step()
    assert (seen[2] - seen[1]).abs().max() > 0.1


@torch.no_grad()
def test_another_type_of_number_works_as_before(fast, model, many):
    fast = fast.double()
    torch.testing.assert_close(fast(many, many), model.double()(many, many))


def test_the_search_finds_the_same(fast, model, many):
    pairs = zip(
        beam_decode(fast, many[:20]),
        beam_decode(model, many[:20]),
        strict=True,
    )
    same = sum(a[0].tokens == b[0].tokens for a, b in pairs)
    assert same >= 19  # where two are nearly equal, either may win


TEXTS = ["A dog runs on the beach.", "", "Two men play chess in the park."]


@pytest.fixture(params=[False, True], ids=["plain", "fast"])
def translator(request):
    found = Translator.load("multi30k-en-de", fast=request.param)
    assert ("OneDNN" in str(found.model)) == request.param
    return found


def close(ours, theirs):
    """The same translations, with scores that differ in their last digits."""
    assert [x.text for x in ours] == [x.text for x in theirs]
    scores = [x.score for x in theirs]
    assert [x.score for x in ours] == pytest.approx(scores, rel=1e-4)


def best(translator):
    return [found[0] for found in translator.n_best(TEXTS, 1)]


def test_fast_or_not_a_translator_says_the_same(translator):
    close(best(translator), best(Translator.load("multi30k-en-de")))


def test_a_translator_can_be_copied(translator):
    copy = deepcopy(translator)
    for weight in translator.model.parameters():
        weight.data.zero_()
    close(best(copy), best(Translator.load("multi30k-en-de")))
    assert str(copy.model) == str(translator.model)


def test_a_translator_can_be_sent_to_another_process(translator):
    program = """
import json, pickle, sys
translator = pickle.load(sys.stdin.buffer)
texts = json.loads(sys.argv[1])
found = [x[0] for x in translator.n_best(texts, 1)]
print(json.dumps([str(translator.model), [vars(x) for x in found]]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program, json.dumps(TEXTS)],
        input=pickle.dumps(translator),
        stdout=subprocess.PIPE,
        check=True,
    )
    shown, found = json.loads(ended.stdout)
    assert shown == str(translator.model)
    close([Translation(**x) for x in found], best(translator))


def test_a_model_can_be_saved(translator, tmp_path, many):
    model, plain = translator.model, Translator.load("multi30k-en-de")
    torch.save(model, tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt", weights_only=False)
    with torch.no_grad():
        assert torch.equal(loaded(many, many), model(many, many))
    for weight in plain.model.parameters():
        weight.data.zero_()
    plain.model.load_state_dict(model.state_dict())
    close(best(plain), best(translator))
    about = load_model(find_model("multi30k-en-de"))[2]
    save_model(tmp_path / "saved", model, translator.tokenizer, about)
    close(best(Translator.load(tmp_path / "saved")), best(translator))


def test_a_fast_model_can_be_converted(fast, model, many):
    theirs = [to_torch(one)(many, many) for one in (fast, model)]
    assert torch.equal(*theirs)
