"""Models and tokenizers with code of one's own, for tests of trainings."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from small_runs import CORPUS, SMALL
from torch import Tensor, nn

from annotated_transformer.data import Tokenizer, train_tokenizer
from annotated_transformer.embedding import TokenEmbedding
from annotated_transformer.heads import MultiHeadAttention
from annotated_transformer.layers import AddNorm, EncoderLayer, FeedForward
from annotated_transformer.model import (
    Decoder,
    Encoder,
    InputEmbedding,
    ModelConfig,
    Transformer,
    transformer,
)

TOKENIZER = train_tokenizer([source for source, _ in CORPUS.train], 32, "char")
SIZES = replace(SMALL.model, vocab_size=len(TOKENIZER))


class Sharper(MultiHeadAttention):
    """Attention whose queries are longer by a learned factor, one a head.

    A part of it is frozen, and has no moments of Adam's.
    """

    def __init__(self, *sizes: Any):
        super().__init__(*sizes)
        self.factor = nn.Parameter(torch.full((self.heads, 1, 1), 2.0))
        self.output.bias.requires_grad_(False)

    def attention_fn(
        self, query: Tensor, *rest: Any, **options: Any
    ) -> Tensor:
        query = query * self.factor
        return nn.functional.scaled_dot_product_attention(
            query, *rest, **options
        )


class SquaredReLU(FeedForward):
    """A part whose weights would fit the published one."""

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x).relu().square())


def sharper(config: ModelConfig = SIZES) -> Transformer:
    return transformer(config, attention=Sharper, norm=nn.RMSNorm)


def squared(config: ModelConfig = SIZES) -> Transformer:
    return transformer(config, feed_forward=SquaredReLU)


def doubled(query: Tensor, *rest: Any, **options: Any) -> Tensor:
    """A function in the place of PyTorch's, where all parts are standard."""
    return nn.functional.scaled_dot_product_attention(
        2 * query, *rest, **options
    )


def kernel(config: ModelConfig = SIZES) -> Transformer:
    model = transformer(config)
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            part.attention_fn = doubled
    return model


def composed() -> Transformer:
    """Boxes put together by hand, for which there are no sizes."""
    tokens = TokenEmbedding(len(TOKENIZER), 8)
    source, target = (InputEmbedding(tokens, None, 0.0) for _ in range(2))
    plain = transformer(SIZES)
    attention = plain.encoder.layers[0].self_attention
    layer = EncoderLayer(attention, FeedForward(8, 8), lambda: AddNorm(8, 0.0))
    encoder = Encoder([layer], nn.Identity())
    decoder = Decoder(plain.decoder.layers, nn.Identity())
    # boxes have no types: any will do
    boxes = source, encoder, target, decoder, tokens
    return Transformer(*boxes)  # type: ignore[no-untyped-call]


BUILDS: dict[Callable[..., Transformer], str] = {
    sharper: "Sharper",
    squared: "SquaredReLU",
    kernel: "doubled",
    composed: "Transformer",
}


class Letters(Tokenizer):
    """Each letter is a token; nothing is left of sentencepiece."""

    def __init__(self, letters: str = "abcdefghij"):
        self.letters = letters
        self.model = letters.encode()

    def __len__(self) -> int:
        return 4 + len(self.letters)

    def encode(self, text: str) -> list[int]:
        return [4 + self.letters.find(x) for x in text] + [2]  # 3: unknown

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(self.letters[i - 4] for i in ids if i > 3)

    def split(self, text: str) -> list[str]:
        return [*text]


class Lower(Tokenizer):
    def encode(self, text: str) -> list[int]:
        return super().encode(text.lower())
