"""Decoding: beam 5, sentences a second, the same weights in all systems."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.convert.huggingface import to_huggingface
from annotated_transformer.data import pad
from annotated_transformer.decoding import (
    beam_search,
    first_state,
    model_step,
)
from annotated_transformer.embedding import PAD, UNK
from annotated_transformer.model import ModelConfig, Transformer, transformer

from .clock import Keeper

WIDTH, LENGTH = 5, 20
Translate = Callable[[Tensor], list[list[int]]]


@torch.no_grad()
def model_of(config: ModelConfig) -> Transformer:
    """The one random model of all systems; post-norm, since Marian is.

    The rows of the special tokens are zero, so their logits are, which are
    never among the best of thousands: every output has full length. Random
    signs in the norms keep tied embeddings from repeating a token for ever.
    """
    torch.manual_seed(0)
    model = transformer(replace(config, pre_norm=False)).eval()
    model.source.tokens.weight[: UNK + 1] = 0.0
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.weight.sub_(2.0 * torch.rand_like(module.weight).round())
    return model


def ours(model: Transformer) -> Translate:
    """The search of this package."""

    @torch.inference_mode()
    def translate(source: Tensor) -> list[list[int]]:
        state = first_state(model, source)
        limits = source.new_full((len(source),), LENGTH)
        beams = beam_search(model_step(model), state, limits, WIDTH, 0.0)
        return [best[0].tokens for best in beams]

    return translate


def marian(model: Transformer) -> Translate:
    """Hugging Face's generate."""
    device = model.source.tokens.weight.device
    theirs: Any = to_huggingface(model).to(device)

    @torch.inference_mode()
    def translate(source: Tensor) -> list[list[int]]:
        outputs = theirs.generate(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            num_beams=WIDTH,
            do_sample=False,
            length_penalty=0.0,
            min_new_tokens=LENGTH,
            max_new_tokens=LENGTH,
        )
        return outputs[:, 1:].tolist()

    return translate


def decode(
    make: Callable[..., Translate],
    config: ModelConfig,
    parts: Sequence[list[list[int]]],
    *options: str,
    device: str = "cpu",
) -> Keeper:
    """The job of a system: translate one batch, keep what came out."""
    translate = make(model_of(config).to(device), *options)
    batches = [pad(part).to(device) for part in parts]
    return Keeper(translate, batches)
