"""The same model as one of Hugging Face's, in a folder that they load.

A post-norm translator is a Marian there, and a pre-norm one a Pegasus, which
is a Marian with the norm first; a language model of today's parts is a Llama.
What they have in another order is put into that order wherever a matrix reads
or writes it, which changes no result: a position of the first two has all its
sines first and its cosines after them, and what a Llama turns together is half
a head apart.
"""

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..data import Tokenizer
from ..embedding import BOS, EOS, PAD, UNK
from ..model import EncoderDecoder, ModelConfig
from ..modern import MODERN
from ..storage.history import History, Search
from ..system.machine import needed
from ..writing import LanguageModel, LanguageModelConfig
from .fast_tokenizer import fast_tokenizer
from .torch_layers import (
    PAPER,
    check_convertible,
    check_field,
    pairs,
    projections,
)

EXTRA = "huggingface"
POSITIONS = 1024  # of a translator there: their table has an end
LONGEST = 256  # tokens of a translation
TRANSLATOR = PAPER | {"positions": ("sinusoidal",), "tied": (True,)}
WRITER = {x: (y,) for x, y in MODERN.items()} | {"qk_norm": (False,)}
SIZES = {  # of a Llama, and what they are called here
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "num_key_value_heads": "kv_heads",
    "max_position_embeddings": "max_length",
    "attention_dropout": "attention_dropout",
}
LLAMA = {  # what ours computes, and theirs may
    "model_type": "llama",
    "hidden_act": "silu",
    "mlp_bias": False,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
}


def sines_first(width: int) -> Tensor:
    """Every second dimension, and then those between."""
    order = torch.arange(width)
    return torch.cat([order[0::2], order[1::2]])


def reorder(model: nn.Module, order: Tensor) -> None:
    """Put the d_model dimensions of every vector into this order."""
    for name, parameter in model.named_parameters():
        part = name.split(".")[-2]
        if part in ("output", "outer", "norm"):  # its results are d_model wide
            parameter.copy_(parameter[order])
        elif parameter.dim() == 2:  # its inputs are; a bias has none
            parameter.copy_(parameter[:, order])


def reorder_heads(model: LanguageModel, order: Tensor) -> None:
    """Put the dimensions of every query and key into this order."""
    for layer in model.decoder.layers:
        query, key, _, *biases = projections(layer.self_attention)
        for rows in (query, key, *biases[:2]):
            heads = rows.unflatten(0, (-1, len(order)))
            heads.copy_(heads[:, order])


def llama_sizes(sizes: LanguageModelConfig) -> dict[str, Any]:
    """What their configuration says of a language model of these sizes."""
    return LLAMA | {
        **{theirs: getattr(sizes, mine) for theirs, mine in SIZES.items()},
        "intermediate_size": 2 * sizes.d_ff // 3,
        "tie_word_embeddings": False,  # ours scales what goes in
        "attention_bias": True,
        "bos_token_id": EOS,
    }


def marian_sizes(sizes: ModelConfig) -> dict[str, Any]:
    """What their configuration says of a translator of these sizes."""
    return {
        "vocab_size": sizes.vocab_size,
        "d_model": sizes.d_model,
        "encoder_layers": sizes.layers,
        "decoder_layers": sizes.decoder_layers or sizes.layers,
        "encoder_ffn_dim": sizes.d_ff,
        "decoder_ffn_dim": sizes.d_ff,
        "encoder_attention_heads": sizes.heads,
        "decoder_attention_heads": sizes.heads,
        "dropout": sizes.dropout,
        "attention_dropout": sizes.attention_dropout,
        "activation_function": "relu",
        "scale_embedding": True,
        "max_position_embeddings": POSITIONS,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
    }


@torch.no_grad()
def to_huggingface(model: EncoderDecoder) -> nn.Module:
    """The model as one of the package transformers, with the same logits.

    UserError names the field of the model's configuration that has no
    counterpart.
    """
    ours: Any = copy.deepcopy(model)
    if isinstance(model, LanguageModel):
        check_convertible(model, WRITER, "LanguageModel")
        kind, sizes = "LlamaForCausalLM", llama_sizes(model.config)
        width = model.config.d_model // model.config.heads
        reorder_heads(ours, sines_first(width))
        tokens = ours.target.tokens = copy.deepcopy(ours.target.tokens)
        tokens.weight.mul_(tokens.scale)
    else:
        check_convertible(model, TRANSLATOR)
        kind, sizes = "MarianMTModel", marian_sizes(model.config)
        if model.config.pre_norm:
            kind = "PegasusForConditionalGeneration"
        reorder(ours, sines_first(model.config.d_model))
    made = getattr(needed("transformers", EXTRA), kind)
    config = made.config_class(pad_token_id=PAD, eos_token_id=EOS, **sizes)
    theirs: nn.Module = made(config).to(ours.output.weight)
    for mine, other in pairs(ours, theirs):
        other.copy_(mine)
    return theirs.train(model.training)


@torch.no_grad()
def from_huggingface(theirs: Any) -> LanguageModel:
    """The language model that a LlamaForCausalLM is, with the same logits.

    UserError if it has a part that ours has not, such as another rotation.
    """
    sizes = theirs.config
    width = sizes.hidden_size // sizes.num_attention_heads
    for field, value in (LLAMA | {"head_dim": width}).items():
        check_field(sizes, field, (value,))
    config = LanguageModelConfig(
        **{mine: getattr(sizes, theirs) for theirs, mine in SIZES.items()},
        d_ff=-(-3 * sizes.intermediate_size // 2),
        dropout=0.0,
        tied=False,  # theirs scales nothing
        **MODERN,
    )
    model = LanguageModel(config).to(theirs.lm_head.weight)
    for mine, other in pairs(model, theirs):
        mine.copy_(other)
    tokens = model.target.tokens
    tokens.weight.div_(tokens.scale)
    reorder_heads(model, sines_first(width).argsort())
    return model.train(theirs.training)


def generation(
    model: EncoderDecoder, history: History | None
) -> dict[str, Any]:
    """How a model searches or draws, in the words of a GenerationConfig.

    Their length penalty is a power of the length n. At fifteen tokens, it
    rises as ours, ((5 + n) / 6)^alpha, if its exponent is alpha * 15 / 20.
    """
    shared = {"pad_token_id": PAD, "eos_token_id": EOS}
    if isinstance(model, LanguageModel):
        return shared | {
            "bos_token_id": EOS,
            "do_sample": True,
            "top_k": 0,  # all
            "max_length": model.max_positions,
        }
    search = (history and history.search) or Search()
    return shared | {
        "bos_token_id": BOS,
        "decoder_start_token_id": BOS,
        "num_beams": search.beam,
        "length_penalty": round(0.75 * search.alpha, 4),
        "no_repeat_ngram_size": search.no_repeat,
        "max_length": LONGEST,
    }


def write_huggingface(
    folder: Path,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None,
) -> dict[str, Any]:
    """Write the model and a fast tokenizer, and return how it searches."""
    theirs: Any = to_huggingface(model)  # which can save itself
    transformers = needed("transformers", EXTRA)
    writes = isinstance(model, LanguageModel)
    how, names = generation(model, history), tokenizer.vocabulary
    theirs.generation_config = transformers.GenerationConfig(**how)
    theirs.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast_tokenizer(tokenizer, running=writes),
        pad_token=names[PAD],
        bos_token=names[how["bos_token_id"]],
        eos_token=names[EOS],
        unk_token=names[UNK],
        split_special_tokens=True,  # "<s>" in a text is text
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=model.max_positions or POSITIONS,
        padding_side="left" if writes else "right",
    ).save_pretrained(folder)
    return how
