"""Conversion to Hugging Face's models: the same numbers there, and back."""

import os
import sys
from dataclasses import replace

os.environ["HF_HUB_OFFLINE"] = "1"  # what is loaded here is on this disk

import pytest
import torch
from exported import CAPTIONS, printed_by_card
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_text import odd_strings
from tiny_models import TINY
from torch_twins import lively
from transformers import (
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from annotated_transformer import Translator, Writer
from annotated_transformer.convert.huggingface import (
    from_huggingface,
    load_huggingface,
    save_huggingface,
    to_huggingface,
)
from annotated_transformer.data import train_tokenizer
from annotated_transformer.embedding import BOS, EOS, PAD
from annotated_transformer.errors import UserError
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.model import (
    ModelConfig,
    Transformer,
    greedy_decode,
    length_limit,
    transformer,
)
from annotated_transformer.modern import MODERN
from annotated_transformer.storage.builders import build
from annotated_transformer.storage.model_folder import load_model, save_model
from annotated_transformer.writing import LanguageModel, LanguageModelConfig

SMALL = ModelConfig(
    vocab_size=11, layers=2, d_model=8, d_ff=12, heads=2, dropout=0.0
)
WRITES = LanguageModelConfig(
    **{"vocab_size": 11, "layers": 2, "d_model": 8, "d_ff": 12, "heads": 2},
    **{"dropout": 0.0, "max_length": 16},
    **MODERN,
)


def random_model(seed: int = 0, **sizes) -> Transformer:
    torch.manual_seed(seed)
    return lively(transformer(replace(SMALL, **sizes)))


def random_writer(seed: int = 0, **sizes) -> LanguageModel:
    torch.manual_seed(seed)
    return lively(LanguageModel(replace(WRITES, **sizes)))


def tokens(lengths: list[int]) -> torch.Tensor:
    rows = [torch.randint(4, 11, (length,)) for length in lengths]
    return torch.nn.utils.rnn.pad_sequence(rows, True, PAD)


seeds = st.integers(0, 999)
some_lengths = st.lists(st.integers(1, 6), min_size=1, max_size=3)


@settings(max_examples=25)
@given(
    seeds,
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
    some_lengths,
)
def test_the_logits_are_the_same(seed, heads, width, depth, pre_norm, lengths):
    """An odd d_model too, which has more sines than cosines."""
    model = random_model(
        seed,
        heads=heads,
        d_model=heads * width,
        decoder_layers=depth,
        pre_norm=pre_norm,
    )
    theirs = to_huggingface(model, max_length=8)
    assert theirs.training == model.training
    source, target = tokens(lengths), tokens(lengths[::-1])
    logits = theirs(source, source != PAD, decoder_input_ids=target).logits
    torch.testing.assert_close(logits, model(source, target))


@settings(max_examples=8)
@given(seeds, st.booleans(), some_lengths)
def test_generate_finds_what_greedy_decoding_finds(seed, pre_norm, lengths):
    model, source = random_model(seed, pre_norm=pre_norm), tokens(lengths)
    ours = greedy_decode(model, source)
    theirs = to_huggingface(model, max_length=64).generate(
        source,
        attention_mask=source != PAD,
        do_sample=False,
        max_new_tokens=ours.size(1),
    )[:, 1:]
    for i, limit in enumerate(length_limit(source)):
        n = min(limit, theirs.size(1))  # generate has one limit for all
        assert torch.equal(ours[i, :n], theirs[i, :n])
        assert (ours[i, n:] == PAD).all()


# Language models


def close(logits: torch.Tensor, others: torch.Tensor) -> None:
    """Equal but for the angles of a Llama, which are float32."""
    torch.testing.assert_close(logits, others, rtol=0, atol=1e-5)


@settings(max_examples=25)
@given(
    seeds,
    st.sampled_from([(1, None), (2, None), (4, 2), (3, 1)]),
    st.sampled_from([2, 4, 6]),
    st.integers(3, 20),
    st.booleans(),
)
def test_a_language_model_goes_there_and_back(seed, heads, width, d_ff, tied):
    """A tied one to the last bit, as the scale of its embedding is known."""
    heads, kv_heads = heads
    sizes = {"heads": heads, "kv_heads": kv_heads, "d_ff": d_ff}
    model = random_writer(seed, d_model=heads * width, tied=tied, **sizes)
    theirs, text = to_huggingface(model), tokens([7, 7])
    logits = model.next_logits(text)
    close(theirs(text).logits, logits)
    back = from_huggingface(theirs)
    assert not back.training
    close(back.next_logits(text), logits)
    if tied:
        ours, returned = model.state_dict(), back.state_dict()
        assert all(torch.equal(x, returned[name]) for name, x in ours.items())
        assert back.config == replace(model.config, d_ff=back.config.d_ff)


LLAMA = LlamaConfig(
    vocab_size=11,
    hidden_size=8,
    intermediate_size=6,
    num_hidden_layers=2,
    num_attention_heads=2,
    rms_norm_eps=1e-5,
    max_position_embeddings=16,
)


@pytest.mark.parametrize("tied", [False, True])
def test_a_llama_that_others_made(tied):
    """Without biases, and with one matrix that is not scaled."""
    config = LlamaConfig(**LLAMA.to_dict() | {"tie_word_embeddings": tied})
    theirs, text = LlamaForCausalLM(config).double().eval(), tokens([9])
    model = from_huggingface(theirs)
    close(model.next_logits(text), theirs(text).logits)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "gelu"}, "hidden_act = 'gelu': this package has only"),
        ({"rms_norm_eps": 1e-6}, "rms_norm_eps = 1e-06"),
        ({"head_dim": 8}, "head_dim = 8: .* head_dim = 4"),
        (
            {"rope_parameters": {"rope_type": "default", "rope_theta": 9.0}},
            "9",
        ),
    ],
)
def test_a_llama_with_other_parts_is_refused(changes, message):
    theirs = LlamaForCausalLM(LlamaConfig(**LLAMA.to_dict() | changes))
    with pytest.raises(UserError, match=message):
        from_huggingface(theirs)


# Folders: what somebody has who has transformers alone


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("there") / "captions"
    save_huggingface(folder, *load_model("multi30k-en-de"))
    return folder


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("there") / "plays"
    save_huggingface(folder, *load_model("plays"))
    return folder


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_reloaded_model_of_either_norm_is_the_same(pre_norm, tmp_path):
    """In float64; its three tied matrices are there only once."""
    tokenizer = train_tokenizer(CAPTIONS, 80)
    model = random_model(vocab_size=len(tokenizer), pre_norm=pre_norm)
    save_huggingface(tmp_path / "model", model, tokenizer)
    theirs = AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "model")
    source, target = tokens([5, 3]), tokens([4, 6])
    logits = theirs(source, source != PAD, decoder_input_ids=target).logits
    torch.testing.assert_close(logits, model(source, target))


@pytest.mark.parametrize("name", ["translator", "writer"])
def test_the_saved_tokenizer_gives_the_same_ids(name, request):
    theirs = AutoTokenizer.from_pretrained(request.getfixturevalue(name))
    load = Translator.load if name == "translator" else Writer.load
    shipped = {"translator": "multi30k-en-de", "writer": "plays"}[name]
    ours = load(shipped).tokenizer
    for text in [*odd_strings(), "<s>", "a</s>b <pad>"]:
        ids = ours.encode(text)
        ids = ids if name == "translator" else [EOS, *ids[:-1]]
        assert theirs(text).input_ids == ids, text
    for text in CAPTIONS:
        assert theirs.decode(ours.encode(text), True) == text


def test_a_reloaded_translator_says_the_same(translator):
    ours = Translator.load("multi30k-en-de")
    model = AutoModelForSeq2SeqLM.from_pretrained(translator)
    tokenizer = AutoTokenizer.from_pretrained(translator)
    batch = tokenizer(CAPTIONS, return_tensors="pt", padding=True)
    for beam, options in ((1, {"num_beams": 1}), (5, {})):
        found = model.generate(**batch, **options)
        assert [len(found), *found[:, 0].unique()] == [len(CAPTIONS), BOS]
        texts = tokenizer.batch_decode(found, skip_special_tokens=True)
        assert texts == ours(CAPTIONS, beam=beam)
    config = model.generation_config
    assert (config.num_beams, config.no_repeat_ngram_size) == (5, 3)
    assert printed_by_card(translator) == f"{ours(['A dog runs.'])}\n"


def test_a_reloaded_language_model_goes_on_alike(writer):
    ours = Writer.load("plays")
    model = AutoModelForCausalLM.from_pretrained(writer)
    tokenizer = AutoTokenizer.from_pretrained(writer)
    prompts = ["ROMEO:\n", "To be, or not"]  # of two lengths
    batch = tokenizer(prompts, return_tensors="pt", padding=True)
    found = model.generate(**batch, do_sample=False, max_new_tokens=60)
    texts = tokenizer.batch_decode(found, skip_special_tokens=True)
    assert texts == ours(prompts, max_new_tokens=60, temperature=0.0)
    assert printed_by_card(writer).startswith("A dog")


def test_a_language_model_comes_back_as_a_model_folder(writer, tmp_path):
    save_model(tmp_path / "back", *load_huggingface(writer))
    ours, back = Writer.load("plays"), Writer.load(tmp_path / "back")
    assert back.tokenizer.model == ours.tokenizer.model
    options = {"max_new_tokens": 150, "seed": 1}
    assert back("ROMEO:\n", **options) == ours("ROMEO:\n", **options)


# What cannot be converted


class Variant(MultiHeadAttention):
    pass


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: random_model(positions="learned"), "positions = 'learned'"),
        (lambda: random_model(tied=False), "tied = False: .* tied = True"),
        (lambda: random_model(d_k=3), "d_k = 3: .* here 4"),
        (lambda: random_model(norm="rms"), "norm = 'rms'"),
        (lambda: transformer(SMALL, Variant), "Variant has no counterpart"),
        (lambda: random_writer(qk_norm=True), "qk_norm = True: Llama has"),
        (lambda: build(TINY["LanguageModel"]), "pre_norm = False: Llama"),
        (lambda: build(TINY["recurrent_translator"]), "RecurrentConfig has"),
        (lambda: build(TINY["convolutional_translator"]), "Convolutional"),
    ],
)
def test_what_they_have_not_is_refused(make, message):
    with pytest.raises(UserError, match=message):
        to_huggingface(make())


def test_folders_that_cannot_be_written_or_read(writer, tmp_path):
    model, tokenizer = random_model(), train_tokenizer(["abc"], 8, "char")
    (tmp_path / "mine").mkdir()
    with pytest.raises(UserError, match="mine: exists already; choose"):
        save_huggingface(tmp_path / "mine", model, tokenizer)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        save_huggingface(tmp_path / "file/in", model, tokenizer)
    for path in (tmp_path / "none", tmp_path / "mine"):
        with pytest.raises(UserError, match="no language model of Hugging"):
            load_huggingface(path)
    GPT2LMHeadModel(
        GPT2Config(vocab_size=9, n_embd=4, n_layer=1, n_head=2)
    ).save_pretrained(tmp_path / "gpt")
    (tmp_path / "gpt/tokenizer.model").write_bytes(tokenizer.model)
    with pytest.raises(UserError, match="model_type = 'gpt2'"):
        load_huggingface(tmp_path / "gpt")
    assert sorted(x.name for x in tmp_path.iterdir()) == [
        "file",
        "gpt",
        "mine",
    ]


def test_without_transformers_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UserError, match=r"pip install .*\[huggingface\]"):
        to_huggingface(random_model())
