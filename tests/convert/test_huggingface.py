"""Conversion to Hugging Face's models: the same numbers there, and back."""

import os
from dataclasses import replace

os.environ["HF_HUB_OFFLINE"] = "1"  # what is loaded here is on this disk

import pytest
import torch
from tiny_models import SMALL
from torch_twins import lively, sentences
from transformers import (
    AutoModelForSeq2SeqLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from annotated_transformer.convert.huggingface import (
    from_huggingface,
    to_huggingface,
)
from annotated_transformer.embedding import PAD
from annotated_transformer.errors import UserError
from annotated_transformer.model import ModelConfig
from annotated_transformer.modern import MODERN
from annotated_transformer.storage.builders import build
from annotated_transformer.writing import LanguageModelConfig

WRITES = LanguageModelConfig(
    **{"vocab_size": 11, "layers": 2, "d_model": 8, "d_ff": 12, "heads": 2},
    **{"dropout": 0.0, "max_length": 16},
    **MODERN,
)


def random_model(sizes: ModelConfig = SMALL, **changes):
    return lively(build(replace(sizes, **changes)))


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize(
    ("heads", "width", "depth", "lengths"),
    [(1, 1, None, [1]), (3, 3, 1, [4, 1, 6]), (2, 2, 3, [2, 5])],
)
def test_the_logits_are_the_same(pre_norm, heads, width, depth, lengths):
    """An odd d_model too, which has more sines than cosines."""
    sizes = {"heads": heads, "d_model": heads * width, "pre_norm": pre_norm}
    model = random_model(SMALL, decoder_layers=depth, **sizes)
    theirs = to_huggingface(model)
    assert theirs.training == model.training
    source, target = sentences(*lengths), sentences(*lengths[::-1])
    logits = theirs(source, source != PAD, decoder_input_ids=target).logits
    torch.testing.assert_close(logits, model(source, target))


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_reloaded_model_is_the_same(pre_norm, tmp_path):
    """In float64; its tied matrix is there only once."""
    model = random_model(pre_norm=pre_norm)
    source, target = sentences(5, 3), sentences(4, 6)
    to_huggingface(model).save_pretrained(tmp_path)
    theirs = AutoModelForSeq2SeqLM.from_pretrained(tmp_path)
    output = theirs(source, source != PAD, decoder_input_ids=target)
    torch.testing.assert_close(output.logits, model(source, target))


# Language models


def close(logits: torch.Tensor, others: torch.Tensor) -> None:
    """Equal but for the angles of a Llama, which are float32."""
    torch.testing.assert_close(logits, others, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "width", "d_ff", "tied"),
    [
        *((1, None, 2, 3, True), (2, None, 6, 20, False)),
        *((4, 2, 4, 7, True), (3, 1, 2, 12, False)),
    ],
)
def test_a_language_model_goes_there_and_back(
    heads, kv_heads, width, d_ff, tied
):
    sizes = {"heads": heads, "kv_heads": kv_heads, "d_ff": d_ff}
    model = random_model(WRITES, d_model=heads * width, tied=tied, **sizes)
    theirs, text = to_huggingface(model), sentences(7, 7)
    logits = model.next_logits(text)
    close(theirs(text).logits, logits)
    back = from_huggingface(theirs)
    assert not back.training
    close(back.next_logits(text), logits)


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
    theirs, text = LlamaForCausalLM(config).double().eval(), sentences(9)
    model = from_huggingface(theirs)
    close(model.next_logits(text), theirs(text).logits)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_act": "gelu"}, "hidden_act = 'gelu': .* = 'silu'"),
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
