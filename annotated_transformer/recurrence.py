"""LSTM with attention and ConvS2S, the translators of before (1, 2, 4).

Written in book/14_recurrence.ipynb: edit the chapter, then `make package`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from annotated_transformer.attention import masked_softmax
from annotated_transformer.embedding import LearnedPositions, TokenEmbedding
from annotated_transformer.errors import UserError, check_fields
from annotated_transformer.model import (
    EncoderDecoder,
    InputEmbedding,
    Nested,
)
from annotated_transformer.sequences import windows

__all__ = [
    "Tensors",
    "ProjectedOutput",
    "DotProductAttention",
    "AdditiveAttention",
    "CELLS",
    "hidden",
    "forget_bias",
    "RecurrentEncoder",
    "RecurrentDecoder",
    "RecurrentConfig",
    "recurrent_translator",
    "scaled_sum",
    "GatedConvolution",
    "ConvolutionalEncoder",
    "ConvolutionalDecoder",
    "ConvolutionalConfig",
    "convolutional_translator",
]


Tensors = tuple[Tensor, ...]


class ProjectedOutput(nn.Module):
    """Logits of vectors whose width is not that of the embeddings."""

    def __init__(self, tokens: TokenEmbedding, width: int, dropout: float):
        super().__init__()
        self.tokens = tokens
        self.linear = nn.Linear(width, tokens.weight.size(1))
        self.dropout = nn.Dropout(dropout)

    def logits(
        self, x: Float[Tensor, "*batch width"]
    ) -> Float[Tensor, "*batch vocab_size"]:
        """Scores of the next token, by the matrix that embeds tokens."""
        return self.tokens.logits(self.linear(self.dropout(x)))


class DotProductAttention(nn.Module):
    """A weighted mean of values, by dot products over sqrt(d_k)."""

    def scores(
        self,
        query: Float[Tensor, "batch queries d_k"],
        keys: Float[Tensor, "batch keys d_k"],
    ) -> Float[Tensor, "batch queries keys"]:
        """How well each key fits each query."""
        return query @ keys.mT / math.sqrt(query.size(-1))

    def weights(
        self,
        query: Float[Tensor, "batch queries d_k"],
        keys: Float[Tensor, "batch keys d_k"],
        mask: Bool[Tensor, "..."],
    ) -> Float[Tensor, "batch queries keys"]:
        """Each query's weights, zero where the mask is False."""
        return masked_softmax(self.scores(query, keys), mask)

    def forward(
        self,
        query: Float[Tensor, "rows queries d_k"],
        keys: Float[Tensor, "batch keys d_k"],
        values: Float[Tensor, "batch keys d_v"],
        mask: Bool[Tensor, "..."],
    ) -> Float[Tensor, "rows queries d_v"]:
        """The answers; rows that share keys become further queries."""
        together = query.reshape(len(keys), -1, query.size(-1))
        answers = self.weights(together, keys, mask) @ values
        return answers.view(*query.shape[:2], -1)


class AdditiveAttention(DotProductAttention):
    """Scores v^T tanh(q + k), of queries and keys that are projected."""

    def __init__(self, d_k: int):
        super().__init__()
        self.v = nn.Linear(d_k, 1, bias=False)

    def scores(
        self,
        query: Float[Tensor, "batch queries d_k"],
        keys: Float[Tensor, "batch keys d_k"],
    ) -> Float[Tensor, "batch queries keys"]:
        """Compare each query with each key through a tanh."""
        both = query[:, :, None] + keys[:, None]
        return self.v(both.tanh()).squeeze(-1)


CELLS = {"lstm": (nn.LSTM, nn.LSTMCell), "gru": (nn.GRU, nn.GRUCell)}


def hidden(state: Tensor | Tensors) -> Tensor:
    """What a cell puts out; an LSTM's has its memory beside it."""
    return state[0] if isinstance(state, tuple) else state


def forget_bias(lstm: nn.Module) -> None:
    """Open the gates that keep the cell: their biases start at 1."""
    for name, bias in lstm.named_parameters():
        if name.startswith("bias_ih"):
            nn.init.ones_(bias.data.chunk(4)[1])


class RecurrentEncoder(nn.Module):
    """LSTMs or GRUs that read in both directions."""

    def __init__(
        self,
        d_model: int,
        width: int,
        layers: int,
        dropout: float,
        cell: str = "lstm",
    ):
        super().__init__()
        kind, _ = CELLS[cell]
        self.recurrence = kind(
            d_model, width // 2, layers, batch_first=True, bidirectional=True
        )
        self.dropout = nn.Dropout(dropout)
        if cell == "lstm":
            forget_bias(self.recurrence)

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        mask: Bool[Tensor, "batch 1 1 length"],
    ) -> Tensors:
        """All states [batch length width], and both last ones as one."""
        packed = pack_padded_sequence(
            x, mask.sum((1, 2, 3)).cpu(), True, enforce_sorted=False
        )
        states, last = self.recurrence(packed)
        states, _ = pad_packed_sequence(states, True, total_length=x.size(1))
        last = hidden(last)[-2:]  # of the highest layer, in both directions
        return self.dropout(states), last.transpose(0, 1).flatten(1)


class RecurrentDecoder(nn.Module):
    """LSTMs or GRUs that look back before each word (Bahdanau, 2015)."""

    def __init__(
        self,
        d_model: int,
        width: int,
        attention: Callable[[int], DotProductAttention],
        layers: int = 1,
        cell: str = "lstm",
    ):
        super().__init__()
        self.first = nn.Linear(width, layers * width)
        self.key = nn.Linear(width, d_model, bias=False)
        self.query = nn.Linear(width, d_model, bias=False)
        self.attention = attention(d_model)
        _, kind = CELLS[cell]
        inputs = [d_model + width] + [width] * (layers - 1)
        self.cells = nn.ModuleList(kind(size, width) for size in inputs)
        self.is_lstm = cell == "lstm"
        for lstm in self.cells if self.is_lstm else []:
            forget_bias(lstm)

    def read(
        self, encoded: Tensors, mask: Bool[Tensor, "batch 1 1 length"]
    ) -> Tensors:
        """The first states, and the keys, values and mask of the source."""
        values, last = encoded
        return self.first(last).tanh(), self.key(values), values, mask[:, 0]

    def forward(
        self,
        x: Float[Tensor, "rows length d_model"],
        memory: Tensors,
        state: Nested | None = None,
    ) -> tuple[Float[Tensor, "rows length width"], Nested]:
        """A state for each target token, each waiting for the one before."""
        first, *source = memory
        if state is None:
            first = first.repeat_interleave(len(x) // len(first), 0)
            state = [*first.chunk(len(self.cells), -1)]
            if self.is_lstm:
                state = [(h, torch.zeros_like(h)) for h in state]
        states = []
        for word in x.unbind(1):
            query = self.query(hidden(state[-1]))[:, None]
            context = self.attention(query, *source)[:, 0]
            y, before, state = torch.cat([word, context], -1), state, []
            for cell, last in zip(self.cells, before, strict=True):
                state.append(cell(y, last))
                y = hidden(state[-1])
            states.append(y)
        return torch.stack(states, 1), state

    def weights(
        self, x: Float[Tensor, "batch length d_model"], memory: Tensors
    ) -> Float[Tensor, "batch 1 length source_length"]:
        """Where it looks when it reads each token, as a map of one head."""
        first, keys, _, mask = memory
        states, _ = self(x, memory)
        top = first[:, None, -states.size(-1) :]
        query = self.query(torch.cat([top, states[:, :-1]], 1))
        return self.attention.weights(query, keys, mask)[:, None]


@dataclass(frozen=True)
class RecurrentConfig:
    """The sizes of a recurrent translator."""

    vocab_size: int = 37_000
    d_model: int = 256  # of embeddings, keys and queries
    width: int = 512  # of states; the encoder has half of it a direction
    layers: int = 1  # of the encoder
    dropout: float = 0.0
    decoder_layers: int = 1
    cell: str = "lstm"  # or "gru"

    def __post_init__(self) -> None:
        check_fields(self, dropout=(0, 0.99), cell=CELLS)
        if self.width % 2:
            raise UserError(f"`width={self.width}`: must be even")


def recurrent_translator(
    config: RecurrentConfig,
    attention: Callable[[int], DotProductAttention] = AdditiveAttention,
) -> EncoderDecoder:
    """Recurrences with attention in the frame of Figure 1, newly drawn."""
    sizes, cell = (config.d_model, config.width), config.cell
    tokens = TokenEmbedding(config.vocab_size, config.d_model)
    output = ProjectedOutput(tokens, config.width, config.dropout)
    words = InputEmbedding(tokens, None, config.dropout)
    encoder = RecurrentEncoder(*sizes, config.layers, config.dropout, cell)
    decoder = RecurrentDecoder(*sizes, attention, config.decoder_layers, cell)
    model = EncoderDecoder(words, encoder, words, decoder, output)
    model.config = config
    return model


def scaled_sum(x: Tensor, y: Tensor) -> Tensor:
    """The sum of two vectors, with the variance of one."""
    return (x + y) * math.sqrt(0.5)


class GatedConvolution(nn.Module):
    """A convolution of which one half says how much of the other passes."""

    def __init__(self, width: int, kernel_size: int, dropout: float = 0.0):
        super().__init__()
        self.kernel_size = kernel_size
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(kernel_size * width, 2 * width)
        std = math.sqrt(4 * (1 - dropout) / (kernel_size * width))
        nn.init.normal_(self.linear.weight, std=std)
        nn.init.zeros_(self.linear.bias)

    def forward(
        self, x: Float[Tensor, "batch length width"], ahead: int = 0
    ) -> Float[Tensor, "batch length width"]:
        """Every output from its window, which ends so many places after it."""
        seen = windows(self.dropout(x), self.kernel_size, ahead)
        return F.glu(self.linear(seen.flatten(-2)))


class ConvolutionalEncoder(nn.Module):
    """A stack of gated convolutions."""

    def __init__(
        self, d_model: int, layers: int, kernel_size: int, dropout: float
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.layers = nn.ModuleList(
            GatedConvolution(d_model, kernel_size, dropout)
            for _ in range(layers)
        )

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        mask: Bool[Tensor, "batch 1 1 length"],
    ) -> Tensors:
        """What the last layer writes, and its sum with what came in."""
        hidden, y = ~mask[:, 0, 0, :, None], x
        for layer in self.layers:
            y = y.masked_fill(hidden, 0.0)
            y = scaled_sum(y, layer(y, ahead=self.kernel_size // 2))
        return y, scaled_sum(y, x)


class ConvolutionalDecoder(nn.Module):
    """Gated convolutions, and attention in each layer (Gehring, 2017)."""

    def __init__(
        self, d_model: int, layers: int, kernel_size: int, dropout: float
    ):
        super().__init__()
        self.kernel_size = kernel_size
        n = range(layers)
        self.layers = nn.ModuleList(
            GatedConvolution(d_model, kernel_size, dropout) for _ in n
        )
        self.query = nn.ModuleList(nn.Linear(d_model, d_model) for _ in n)
        self.answer = nn.ModuleList(nn.Linear(d_model, d_model) for _ in n)
        self.attention = DotProductAttention()

    def read(
        self, encoded: Tensors, mask: Bool[Tensor, "batch 1 1 length"]
    ) -> Tensors:
        """Keys, values times the root of the length, and their mask."""
        (keys, values), mask = encoded, mask[:, 0]
        root = mask.sum(-1, keepdim=True).to(values).sqrt()
        return keys, values * root, mask

    def forward(
        self,
        g: Float[Tensor, "rows length d_model"],
        memory: Tensors,
        state: list[Tensor] | None = None,
    ) -> tuple[Float[Tensor, "rows length d_model"], list[Tensor]]:
        """A vector for each target token, all of them at once.

        The state is, for each layer, the inputs to which its next window
        will reach back.
        """
        x, presents = g, []
        for i, layer in enumerate(self.layers):
            past = x.new_zeros(len(x), self.kernel_size - 1, x.size(-1))
            both = torch.cat([state[i] if state else past, x], 1)
            presents.append(both[:, x.size(1) :])
            y = layer(both)[:, past.size(1) :]
            c = self.attention(scaled_sum(self.query[i](y), g), *memory)
            x = scaled_sum(x, scaled_sum(y, self.answer[i](c)))
        return x, presents


@dataclass(frozen=True)
class ConvolutionalConfig:
    """The sizes of a convolutional translator."""

    vocab_size: int = 37_000
    d_model: int = 256
    layers: int = 4  # of the encoder and again of the decoder
    kernel_size: int = 3  # that a convolution sees
    dropout: float = 0.0
    max_length: int = 512  # positions are learned

    def __post_init__(self) -> None:
        check_fields(self, dropout=(0, 0.99))


def convolutional_translator(config: ConvolutionalConfig) -> EncoderDecoder:
    """ConvS2S in the frame of Figure 1, newly drawn."""
    tokens = TokenEmbedding(config.vocab_size, config.d_model)
    output = ProjectedOutput(tokens, config.d_model, config.dropout)
    source, target = (
        InputEmbedding(
            tokens,
            LearnedPositions(config.d_model, config.max_length),
            config.dropout,
        )
        for _ in range(2)
    )
    sizes = config.d_model, config.layers, config.kernel_size, config.dropout
    encoder, decoder = (
        ConvolutionalEncoder(*sizes),
        ConvolutionalDecoder(*sizes),
    )
    model = EncoderDecoder(source, encoder, target, decoder, output)
    model.config = config
    return model
