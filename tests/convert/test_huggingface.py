"""Conversion to Hugging Face's Marian: the same numbers there."""

import os
import re
import sys
from dataclasses import replace

os.environ["HF_HUB_OFFLINE"] = "1"  # what is loaded here is on this disk

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch_twins import lively
from transformers import MarianMTModel, MarianTokenizer

from annotated_transformer.convert.marian import save_marian, to_marian
from annotated_transformer.data import copy_task, train_tokenizer
from annotated_transformer.embedding import BOS, EOS, PAD, UNK
from annotated_transformer.errors import UserError
from annotated_transformer.model import (
    ModelConfig,
    Transformer,
    greedy_decode,
    length_limit,
    transformer,
)

SMALL = ModelConfig(
    vocab_size=11, layers=2, d_model=8, d_ff=12, heads=2, dropout=0.0
)


def random_model(seed: int = 0, **sizes) -> Transformer:
    torch.manual_seed(seed)
    return lively(transformer(replace(SMALL, **sizes)))


def tokens(lengths: list[int]) -> torch.Tensor:
    rows = [torch.randint(4, 11, (length,)) for length in lengths]
    return torch.nn.utils.rnn.pad_sequence(rows, True, PAD)


def assert_same(ours: Transformer, theirs: MarianMTModel, lengths) -> None:
    """Their logits are ours; Marian has to be told what is padding."""
    source, target = tokens(lengths), tokens(lengths[::-1])
    logits = theirs(source, source != PAD, decoder_input_ids=target).logits
    torch.testing.assert_close(logits, ours(source, target))


seeds = st.integers(0, 999)
some_lengths = st.lists(st.integers(1, 6), min_size=1, max_size=3)


@settings(max_examples=15)
@given(
    seeds,
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([None, 1, 3]),
    some_lengths,
)
def test_the_logits_are_the_same(seed, heads, width, depth, lengths):
    """An odd d_model too, which has more sines than cosines."""
    model = random_model(
        seed, heads=heads, d_model=heads * width, decoder_layers=depth
    )
    theirs = to_marian(model, max_length=8)
    assert theirs.training == model.training
    assert_same(model, theirs, lengths)


@settings(max_examples=8)
@given(seeds, some_lengths)
def test_generate_finds_what_greedy_decoding_finds(seed, lengths):
    model, source = random_model(seed), tokens(lengths)
    ours = greedy_decode(model, source)
    theirs = to_marian(model, max_length=64).generate(
        source,
        attention_mask=source != PAD,
        do_sample=False,
        max_new_tokens=ours.size(1),
    )[:, 1:]
    for i, limit in enumerate(length_limit(source)):
        n = min(limit, theirs.size(1))  # generate has one limit for all
        assert torch.equal(ours[i, :n], theirs[i, :n])
        assert (ours[i, n:] == PAD).all()


# Folders


@pytest.fixture(scope="module")
def tokenizer():
    lines = [source for source, _ in copy_task(50)]
    return train_tokenizer([*lines, "a <b>"], 32, "char")


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    """A folder that holds random_model of the tokenizer's size."""
    folder = tmp_path_factory.mktemp("marian") / "model"
    save_marian(folder, random_model(vocab_size=len(tokenizer)), tokenizer)
    return folder


def test_a_saved_folder_is_the_same_model(folder, tokenizer):
    theirs = MarianMTModel.from_pretrained(folder)
    assert_same(random_model(vocab_size=len(tokenizer)), theirs, [5, 3])


def test_the_saved_tokenizer_gives_the_same_ids(folder, tokenizer):
    theirs = MarianTokenizer.from_pretrained(folder)
    theirs.punc_normalizer = str  # leave the text as it is
    assert (theirs.pad_token_id, theirs.bos_token_id) == (PAD, BOS)
    assert (theirs.eos_token_id, theirs.unk_token_id) == (EOS, UNK)

    @given(st.text() | st.text("abc <"))
    def check(text):
        assume(not re.search("</?s>|>>.*<<", text))  # one sign there
        assert theirs(text).input_ids == tokenizer.encode(text)

    check()
    for text in ("a</s>b", "<s>", ">>a<< b"):
        assert theirs(text).input_ids != tokenizer.encode(text)
    ids = [BOS, *tokenizer.encode("ab cba")]
    assert theirs.decode(ids, skip_special_tokens=True) == "ab cba"


# What cannot be converted


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"pre_norm": True}, "pre_norm = True: Marian .* pre_norm = False"),
        ({"positions": "learned"}, "positions = 'learned': .*'sinusoidal'"),
        ({"tied": False}, "tied = False: .* tied = True"),
        ({"d_k": 3}, "d_k = 3: .* here 4"),
        ({"d_v": 5}, "d_v = 5: .* here 4"),
    ],
)
def test_what_marian_has_not(sizes, message):
    with pytest.raises(UserError, match=message):
        to_marian(random_model(**sizes))


def test_without_transformers_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r"pip install .*\[marian\]"):
        to_marian(random_model())
