"""Translating with a decoder-only model: source, mark and target in a row.

Written in book/decoder_only.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.attention import Mask, causal_mask, padding_mask
from annotated_transformer.decoding import tree_map
from annotated_transformer.embedding import PAD
from annotated_transformer.errors import check_kind
from annotated_transformer.layers import KeysValues, Vectors
from annotated_transformer.model import (
    ModelConfig,
    Nested,
    State,
    Tokens,
)
from annotated_transformer.writing import LanguageModel

__all__ = ["SourceAndTarget"]


class SourceAndTarget(LanguageModel):
    """A translator without an encoder: source, mark and target in a row.

    The mark is BOS. A token sees what stands before it; with prefix, those
    of the source see all of the source.
    """

    def __init__(self, config: ModelConfig, prefix: bool = False):
        check_kind("positions", config.positions, str, ["sinusoidal"])
        super().__init__(config)
        self.prefix = prefix

    def read(self, source: Tokens) -> Nested:  # type: ignore[override]
        """The memory: keys and values of the source, and what is not padding.

        They are those that the target finds before itself in the row.
        """
        real = padding_mask(source, PAD)
        mask = real
        if not self.prefix:
            mask = real & causal_mask(source.size(1), source.device)
        start = torch.zeros_like(source[:, :1])
        pasts = [None] * len(self.decoder.layers)
        _, kept = self.append(source, start, mask, pasts)
        return kept, real

    def decode(
        self, target: Tokens, memory: Nested, state: State | None = None
    ) -> tuple[Vectors, State]:
        """A vector for each target token, and the state after the last."""
        written, (pasts, real) = state or (0, memory)
        rows, length = target.shape
        if rows > len(real):  # several share a sentence
            each = torch.arange(rows, device=real.device) * len(real) // rows
            pasts, real = tree_map(lambda x: x[each], (pasts, real))
        own = causal_mask(length, target.device).expand(rows, 1, -1, -1)
        mask = torch.cat([real.expand(-1, -1, length, -1), own], dim=-1)
        start = real.sum(-1).view(rows, 1)
        x, kept = self.append(target, start, mask, pasts)
        real = F.pad(real, (0, length), value=True)
        return x, (written + length, (kept, real))

    def append(
        self,
        tokens: Tokens,
        start: Int[Tensor, "rows 1"],
        mask: Mask,
        pasts: Sequence[KeysValues | None],
    ) -> tuple[Vectors, list[KeysValues]]:
        """Read tokens that each row has from its own position on.

        Their vectors, and the keys and values of the row up to them.
        """
        places = start + torch.arange(tokens.size(1), device=tokens.device)
        embed, kept = self.target, []
        embed.positions.reserve(int(places.max()) + 1)
        x = embed.tokens(tokens) + embed.positions.table[places]
        x = embed.dropout(x)
        for layer, past in zip(self.decoder.layers, pasts, strict=True):
            x, keys_values = layer(x, target_mask=mask, past=past)
            kept.append(keys_values)
        return self.decoder.norm(x), kept
