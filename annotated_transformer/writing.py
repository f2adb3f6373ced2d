"""A decoder alone: a language model, and how its words are drawn.

Written in book/18_writing.ipynb: edit the chapter, then `make package`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from annotated_transformer.attention import causal_mask
from annotated_transformer.embedding import TokenEmbedding
from annotated_transformer.layers import EncoderLayer
from annotated_transformer.model import (
    Encoder,
    InputEmbedding,
    ModelConfig,
    parts_of,
    scale_residual_init,
)

__all__ = ["LanguageModel", "next_token_probs", "sample"]


class LanguageModel(nn.Module):
    """A decoder without a source: it scores the next token of a text."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        look, _, think, box, last, place = parts_of(config)
        self.tokens = TokenEmbedding(config.vocab_size, config.d_model)
        self.input = InputEmbedding(self.tokens, place(), config.dropout)
        layers = range(config.layers)
        reads = [EncoderLayer(look(), think(), box) for _ in layers]
        self.decoder = Encoder(reads, last())  # whose mask hides the future
        if config.pre_norm:
            scale_residual_init(self.decoder.layers)

    def forward(
        self, tokens: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab_size"]:
        """Logits of the token after each token."""
        mask = causal_mask(tokens.size(1), tokens.device)
        return self.tokens.logits(self.decoder(self.input(tokens), mask))


def next_token_probs(
    logits: Float[Tensor, "*batch vocab_size"],
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
) -> Float[Tensor, "*batch vocab_size"]:
    """The softmax of logits / temperature, its tail cut off.

    What stays is among the top_k likeliest, unless top_k is 0, and among the
    fewest whose probabilities add up to top_p or more. A temperature of 0
    leaves the likeliest. ValueError for logits that are not numbers.
    """
    if temperature < 0 or top_k < 0 or not 0 < top_p <= 1:
        raise ValueError("temperature >= 0, top_k >= 0 and 0 < top_p <= 1")
    coldest = torch.finfo(logits.dtype).tiny
    below = logits - logits.amax(-1, keepdim=True)
    p = (below / max(temperature, coldest)).softmax(-1)
    if p.isnan().any():
        raise ValueError("logits are not numbers, or none of them is finite")
    if top_k == 0 and top_p == 1:
        return p
    vocab = p.size(-1)
    ranked, order = p.topk(min(top_k or vocab, vocab))
    before = ranked.cumsum(-1) - ranked  # of those that are likelier
    cut = (before >= top_p) & (top_p < 1)
    p = torch.zeros_like(p).scatter(-1, order, ranked.masked_fill(cut, 0))
    return p / p.sum(-1, keepdim=True)


@torch.inference_mode()
def sample(
    model: nn.Module,
    tokens: Int[Tensor, "rows length"],
    max_new_tokens: int,
    **options,
) -> Int[Tensor, "rows longer"]:
    """Draw max_new_tokens for each row; see next_token_probs for options."""
    for _ in range(max_new_tokens):
        p = next_token_probs(model(tokens)[:, -1], **options)
        tokens = torch.cat([tokens, p.multinomial(1)], dim=1)
    return tokens
