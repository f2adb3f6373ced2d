"""The same model as one of Hugging Face's, in a folder that they load.

A post-norm translator is a Marian there, and a pre-norm one a Pegasus, which
is a Marian with the norm first; a language model of today's parts is a Llama.
What they have in another order is put into that order wherever a matrix reads
or writes it, which changes no result: a position of the first two has all its
sines first and its cosines after them, and what a Llama turns together is half
a head apart.
"""

import copy
import math
from collections.abc import Mapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.convert.exported_folder import exported_folder
from annotated_transformer.convert.fast_tokenizer import fast_tokenizer
from annotated_transformer.convert.torch_layers import (
    check_convertible,
    check_standard,
    pairs,
    projections,
)
from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import BOS, EOS, PAD, UNK
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder, ModelConfig
from annotated_transformer.modern import MODERN
from annotated_transformer.storage.history import History, Search
from annotated_transformer.storage.model_folder import read_tokenizer
from annotated_transformer.system.extras import needed
from annotated_transformer.writing import LanguageModel, LanguageModelConfig

__all__ = [
    "from_huggingface",
    "generation",
    "load_huggingface",
    "save_huggingface",
    "to_huggingface",
]

EXTRA = "huggingface"
POSITIONS = 1024  # of a translator there: their table has an end
LONGEST = 256  # tokens of a translation
TRANSLATOR = {"positions": "sinusoidal", "tied": True}
WRITER = MODERN | {"qk_norm": False}
LLAMA = {  # what ours computes, and theirs may
    "model_type": "llama",
    "hidden_act": "silu",
    "mlp_bias": False,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
}


def check_values(
    given: object, values: Mapping[str, object], whose: str
) -> None:
    """UserError unless a configuration has these values."""
    for field, value in values.items():
        if (found := getattr(given, field, None)) != value:
            raise UserError(
                f"{field} = {found!r}: {whose} has only models with {field} "
                f"= {value!r}, and only such a one can be converted"
            )


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


def config_of(sizes: ModelConfig, max_length: int) -> Any:
    """The configuration of their model that is the one of these sizes."""
    transformers = needed("transformers", EXTRA)
    shared = {
        "vocab_size": sizes.vocab_size,
        "attention_dropout": sizes.attention_dropout,
        "pad_token_id": PAD,
        "eos_token_id": EOS,
    }
    if isinstance(sizes, LanguageModelConfig):
        return transformers.LlamaConfig(
            hidden_size=sizes.d_model,
            intermediate_size=2 * sizes.d_ff // 3,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            num_key_value_heads=sizes.kv_heads,
            max_position_embeddings=sizes.max_length,
            tie_word_embeddings=False,  # ours scales what goes in
            bos_token_id=EOS,
            attention_bias=True,
            **shared,
            **LLAMA,
        )
    kind = "PegasusConfig" if sizes.pre_norm else "MarianConfig"
    return getattr(transformers, kind)(
        d_model=sizes.d_model,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.decoder_layers or sizes.layers,
        encoder_ffn_dim=sizes.d_ff,
        decoder_ffn_dim=sizes.d_ff,
        encoder_attention_heads=sizes.heads,
        decoder_attention_heads=sizes.heads,
        dropout=sizes.dropout,
        activation_function="relu",
        scale_embedding=True,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        max_position_embeddings=max_length,
        **shared,
    )


@torch.no_grad()
def to_huggingface(
    model: EncoderDecoder, max_length: int = POSITIONS
) -> nn.Module:
    """The model as one of the package transformers, with the same logits.

    max_length is how many positions the table of a translator has. UserError
    names the field of the model's configuration that has no counterpart.
    """
    if isinstance(model, LanguageModel):
        check_standard(model, "LanguageModel")
        check_values(model.config, WRITER, "Llama")
    else:
        check_convertible(model)
        check_values(model.config, TRANSLATOR, "Hugging Face")
    config = config_of(model.config, max_length)
    transformers, ours = needed("transformers", EXTRA), copy.deepcopy(model)
    if isinstance(ours, LanguageModel):
        kind = transformers.AutoModelForCausalLM
        reorder_heads(ours, sines_first(config.head_dim))
        tokens = ours.target.tokens = copy.deepcopy(ours.target.tokens)
        tokens.weight.mul_(tokens.scale)
    else:
        kind = transformers.AutoModelForSeq2SeqLM
        reorder(ours, sines_first(config.d_model))
    theirs: nn.Module = kind.from_config(config)
    theirs.to(ours.output.weight)
    for mine, other in pairs(ours, theirs):
        other.copy_(mine)
    return theirs.train(model.training)


@torch.no_grad()
def from_huggingface(theirs: Any) -> LanguageModel:
    """The language model that a LlamaForCausalLM is, with the same logits.

    UserError if it has a part that ours has not, such as another rotation.
    """
    sizes = theirs.config
    check_values(sizes, LLAMA, "this package")
    heads = sizes.num_attention_heads
    width = sizes.hidden_size // heads
    check_values(sizes, {"head_dim": width}, "this package")
    embedded, output = theirs.model.embed_tokens.weight, theirs.lm_head.weight
    scale = math.sqrt(sizes.hidden_size)
    config = LanguageModelConfig(
        vocab_size=sizes.vocab_size,
        layers=sizes.num_hidden_layers,
        d_model=sizes.hidden_size,
        d_ff=-(-3 * sizes.intermediate_size // 2),
        heads=heads,
        kv_heads=(sizes.num_key_value_heads % heads) or None,
        dropout=0.0,
        attention_dropout=sizes.attention_dropout,
        max_length=sizes.max_position_embeddings,
        tied=torch.equal(embedded, output * scale),
        **MODERN,
    )
    model = LanguageModel(config).to(output)
    for mine, other in pairs(model, theirs):
        mine.copy_(other)
    if not config.tied:
        model.target.tokens.weight.div_(scale)
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


def save_huggingface(
    folder: Path | str,
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    history: History | None = None,
) -> None:
    """Write a new folder that transformers loads, with all that it needs.

    That is the model and how it searches, a fast tokenizer that gives our
    ids, and a card with an example. UserError for a model or a tokenizer that
    has no counterpart there, and if the folder exists or cannot be written.
    """
    transformers = needed("transformers", EXTRA)
    theirs: Any = to_huggingface(model)  # which can save itself
    writes = isinstance(model, LanguageModel)
    how = generation(model, history)
    theirs.generation_config = transformers.GenerationConfig(**how)
    names = tokenizer.vocabulary
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast_tokenizer(tokenizer, running=writes),
        pad_token=names[PAD],
        bos_token=names[how["bos_token_id"]],
        eos_token=names[EOS],
        unk_token=names[UNK],
        split_special_tokens=True,  # "<s>" in a text is text
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=model.max_positions or POSITIONS,
        padding_side="left" if writes else "right",
    )
    about = model, tokenizer, history
    with exported_folder(folder, "transformers", *about, **how) as new:
        with redirect_stderr(StringIO()):  # it has a bar for its progress
            theirs.save_pretrained(new)
        fast.save_pretrained(new)


def load_huggingface(folder: Path | str) -> tuple[LanguageModel, Tokenizer]:
    """The language model in a folder of a Llama, and its tokenizer.

    That is tokenizer.model, a sentencepiece model with the ids of this
    package, as save_huggingface writes it. UserError for another folder.
    """
    transformers, path = needed("transformers", EXTRA), Path(folder)
    try:
        theirs = transformers.AutoModelForCausalLM.from_pretrained(
            path, local_files_only=True, use_safetensors=True
        )
        tokenizer = read_tokenizer(path / "tokenizer.model")
        pieces = tokenizer.pieces
        ids = [pieces.pad_id(), pieces.bos_id(), pieces.eos_id()]
        if [*ids, pieces.unk_id()] != [PAD, BOS, EOS, UNK]:
            raise ValueError("its reserved ids are not those of this package")
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder}: no language model of Hugging Face's with its "
            f"tokenizer.model ({error!s:.100}); name a folder that has both"
        ) from error
    return from_huggingface(theirs), tokenizer
