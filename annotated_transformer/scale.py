"""What a model costs: operations, bytes, and text drawn with a draft.

Written in book/19_scale.ipynb: edit the chapter, then `make package`.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.heads import head_width
from annotated_transformer.model import EncoderDecoder, ModelConfig, State
from annotated_transformer.writing import LanguageModel, next_token_probs

__all__ = [
    "head_widths",
    "token_operations",
    "cache_bytes",
    "CachedReader",
    "speculative_sample",
]


def head_widths(config: ModelConfig) -> int:
    """The numbers of a key and of a value together."""
    d_k = config.d_k or head_width(config.d_model, config.heads)
    return d_k + (config.d_v or head_width(config.d_model, config.heads))


def token_operations(model: LanguageModel, keys: int) -> int:
    """Operations of a token that looks at so many keys, without gradients.

    2 for each weight of a matrix, and 2 for each number of a key and of a
    value, in each head.
    """
    met = [*model.decoder.parameters(), *model.output.parameters()]
    matrices = sum(weight.numel() for weight in met if weight.dim() > 1)
    config = model.config
    looks = config.layers * config.heads * head_widths(config)
    return 2 * matrices + 2 * keys * looks


def cache_bytes(config: ModelConfig, tokens: int, size: int = 4) -> int:
    """Bytes of keys and values of a text that a decoder-only model has read.

    size is that of a number: 4 in float32, 2 in half precision.
    """
    groups = config.kv_heads or config.heads
    return tokens * config.layers * groups * head_widths(config) * size


class CachedReader:
    """A decoder-only model that reads on where it stopped, and can go back."""

    def __init__(self, model: EncoderDecoder):
        self.model, self.calls = model, 0
        self.state: State | None = None

    def __call__(
        self, tokens: Int[Tensor, "1 length"], last: int, **options
    ) -> Float[Tensor, "last vocab_size"]:
        """Probabilities of what comes after each of the last tokens."""
        begin = self.state[0] if self.state else 0
        memory = self.model.read(tokens[:, :0])
        x, self.state = self.model.decode(
            tokens[:, begin:], memory, self.state
        )
        self.calls += 1
        return next_token_probs(self.model.logits(x[0, -last:]), **options)

    def back(self, length: int) -> None:
        """Forget what was read after so many tokens."""
        if self.state and self.state[0] > length:
            pasts = [
                (keys[:, :, :length], values[:, :, :length])
                for keys, values in self.state[1]
            ]
            self.state = length, pasts


@torch.inference_mode()
def speculative_sample(
    model: EncoderDecoder,
    draft: EncoderDecoder,
    tokens: Int[Tensor, "1 length"],
    max_new_tokens: int,
    guesses: int = 4,
    **options,
) -> tuple[Int[Tensor, "1 longer"], int]:
    """Draw as `sample` does from model, which only judges a draft's guesses.

    Returns the text, and how often the model was called. Options are those
    of next_token_probs, and hold for both models, which share a vocabulary.
    ValueError if the text would outgrow the context of either.
    """
    end = tokens.size(1) + max_new_tokens
    for one in (model, draft):
        if end > (one.max_positions or end):
            raise ValueError(
                f"{end} tokens, and a context of {one.max_positions}: ask "
                "for fewer new ones"
            )
    judge, writer = CachedReader(model), CachedReader(draft)
    while tokens.size(1) < end:
        begin, q = tokens.size(1), []
        for _ in range(min(guesses, end - begin - 1)):
            q.append(writer(tokens, 1, **options)[0])
            tokens = torch.cat([tokens, q[-1].multinomial(1)[None]], 1)
        p = judge(tokens, len(q) + 1, **options)
        kept, guessed = 0, tokens[0, begin:].tolist()
        for token in guessed:
            if torch.rand(()) * q[kept][token] >= p[kept, token]:
                break
            kept += 1
        left = p[kept]
        if kept < len(guessed):  # refused
            lacks = (left - q[kept]).clamp(min=0)
            left = lacks.where(lacks.any(), left)  # none only by rounding
        new = left.multinomial(1)[None]
        tokens = torch.cat([tokens[:, : begin + kept], new], 1)
        for reader in (judge, writer):
            reader.back(begin + kept)
    return tokens, judge.calls
