"""The same model as Hugging Face's Marian.

Marian is post-norm with sinusoids, like the published model, but a position
there has all its sines first and its cosines after them. Our dimensions are
put into that order wherever a matrix reads or writes them, which changes no
result. (To copy our table instead would not last: Marian's folders leave the
table out, and who loads one makes his own.)
"""

import copy
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.convert.torch_layers import check_convertible, pairs
from annotated_transformer.data import Tokenizer
from annotated_transformer.embedding import BOS, EOS, PAD
from annotated_transformer.errors import UserError
from annotated_transformer.model import Transformer
from annotated_transformer.system.atomic_files import replacing

__all__ = ["save_marian", "to_marian"]

FILES = (
    "generation_config.json",
    "model.safetensors",
    "source.spm",
    "target.spm",
    "vocab.json",
    "tokenizer_config.json",
    "config.json",
)


def sines_first(d_model: int) -> Tensor:
    """Our dimensions in Marian's order: all the sines, then the cosines."""
    order = torch.arange(d_model)
    return torch.cat([order[0::2], order[1::2]])


def reorder(model: Transformer, order: Tensor) -> None:
    """Put the d_model dimensions of every vector into this order."""
    for name, parameter in model.named_parameters():
        part = name.split(".")[-2]
        if part in ("output", "outer", "norm"):  # its results are d_model wide
            parameter.copy_(parameter[order])
        elif parameter.dim() == 2:  # its inputs are; a bias has none
            parameter.copy_(parameter[:, order])


@torch.no_grad()
def to_marian(model: Transformer, max_length: int = 1024) -> nn.Module:
    """The model as a transformers.MarianMTModel, with the same logits.

    max_length is how many positions Marian's table has. UserError names the
    field of the model's configuration that Marian has no counterpart for.
    """
    check_convertible(model)
    needed = {"pre_norm": False, "positions": "sinusoidal", "tied": True}
    for field, value in needed.items():
        if (given := getattr(model.config, field)) != value:
            raise UserError(
                f"{field} = {given!r}: Marian has only models with {field} = "
                f"{value!r}; train one, with `pre_norm=False` for the norm"
            )
    try:
        import transformers
    except ImportError:
        raise UserError(
            "Marian models need the package transformers: "
            "pip install 'annotated-transformer[marian]'"
        ) from None
    sizes = model.config
    config = transformers.MarianConfig(
        vocab_size=sizes.vocab_size,
        decoder_vocab_size=sizes.vocab_size,
        d_model=sizes.d_model,
        encoder_layers=sizes.layers,
        decoder_layers=sizes.decoder_layers or sizes.layers,
        encoder_ffn_dim=sizes.d_ff,
        decoder_ffn_dim=sizes.d_ff,
        encoder_attention_heads=sizes.heads,
        decoder_attention_heads=sizes.heads,
        dropout=sizes.dropout,
        attention_dropout=sizes.attention_dropout,
        activation_function="relu",
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        max_position_embeddings=max_length,
    )
    theirs: nn.Module = transformers.MarianMTModel(config)
    theirs.to(model.source.tokens.weight)
    model = copy.deepcopy(model)
    reorder(model, sines_first(model.config.d_model))
    for mine, other in pairs(model, theirs):
        other.copy_(mine)
    return theirs.train(model.training)


def save_marian(
    folder: Path | str, model: Transformer, tokenizer: Tokenizer
) -> None:
    """Write a folder that transformers loads, tokenizer included.

    MarianTokenizer gives our ids, except for text that holds one of the
    signs <s>, </s>, <unk>, <pad> or begins with one like >>de<<, and once
    its punc_normalizer, which rewrites punctuation, is replaced by str.
    UserError if it cannot be written; what was there stays then.
    """
    theirs: Any = to_marian(model)  # which can save itself
    piece = tokenizer.pieces.id_to_piece
    ids = {piece(i): i for i in range(len(tokenizer))}
    with replacing(Path(folder), *FILES) as new:
        theirs.save_pretrained(new)
        for name in ("source.spm", "target.spm"):
            (new / name).write_bytes(tokenizer.model)
        for name, content in (
            ("vocab.json", ids),
            ("tokenizer_config.json", {"bos_token": piece(BOS)}),
        ):
            (new / name).write_bytes(json.dumps(content, indent=0).encode())
