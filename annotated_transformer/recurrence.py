"""LSTM with attention and ConvS2S, the translators of before (1, 2, 4).

Written in book/15_recurrence.ipynb: edit the chapter, then `make package`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from annotated_transformer.attention import masked_softmax
from annotated_transformer.decoding import Hypothesis, Step, beam_search
from annotated_transformer.embedding import (
    PAD,
    LearnedPositions,
    TokenEmbedding,
)
from annotated_transformer.model import Where, chosen, length_limit
from annotated_transformer.sequences import windows

__all__ = [
    "Tensors",
    "EncoderDecoder",
    "DotProductAttention",
    "AdditiveAttention",
    "keep_at_first",
    "RecurrentEncoder",
    "RecurrentTranslator",
    "joined",
    "GatedConvolution",
    "ConvolutionalEncoder",
    "ConvolutionalTranslator",
    "SearchState",
    "translator_step",
    "search",
]


Tensors = tuple[Tensor, ...]


class EncoderDecoder(nn.Module):
    """What a recurrent and a convolutional translator share.

    encode(source) gives the memory and the decoder's first state, each a
    tuple of tensors with a row a sentence; decode(target, memory, state)
    gives a vector a target token, and the state after the last.
    """

    most_positions: int | None = None

    def __init__(
        self, vocab_size: int, d_model: int, width: int, dropout: float
    ):
        super().__init__()
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.output = nn.Linear(width, d_model)
        self.dropout = nn.Dropout(dropout)

    def logits(
        self, x: Float[Tensor, "*batch width"]
    ) -> Float[Tensor, "*batch vocab_size"]:
        """Scores of the next token, by the matrix that embeds tokens."""
        return self.embedding.logits(self.output(self.dropout(x)))

    def forward(
        self,
        source: Int[Tensor, "batch source_length"],
        target: Int[Tensor, "batch target_length"],
        where: Where | None = None,
    ) -> Float[Tensor, "*positions vocab_size"]:
        """Logits at every target position, or only where asked for."""
        x, _ = self.decode(target, *self.encode(source))
        return self.logits(x if where is None else chosen(x, where))


class DotProductAttention(nn.Module):
    """A weighted mean of values, by dot products over sqrt(d_k)."""

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

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
        answers = self.dropout(self.weights(together, keys, mask)) @ values
        return answers.view(*query.shape[:2], -1)


class AdditiveAttention(DotProductAttention):
    """Scores v^T tanh(q + k), of queries and keys that are projected."""

    def __init__(self, d_k: int, dropout: float = 0.0):
        super().__init__(dropout)
        self.v = nn.Linear(d_k, 1, bias=False)

    def scores(
        self,
        query: Float[Tensor, "batch queries d_k"],
        keys: Float[Tensor, "batch keys d_k"],
    ) -> Float[Tensor, "batch queries keys"]:
        """Compare each query with each key through a tanh."""
        both = query[:, :, None] + keys[:, None]
        return self.v(both.tanh()).squeeze(-1)


def keep_at_first(lstm: nn.LSTM | nn.LSTMCell) -> None:
    """Open the gates that keep the cell: their biases start at 1."""
    for name, bias in lstm.named_parameters():
        if name.startswith("bias_ih"):
            nn.init.ones_(bias.data.chunk(4)[1])


class RecurrentEncoder(EncoderDecoder):
    """A bidirectional LSTM, and all that a decoder will have learned."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        width: int,
        dropout: float = 0.0,
        attention: Callable[[int], nn.Module] = AdditiveAttention,
        layers: int = 1,
    ):
        super().__init__(vocab_size, d_model, width, dropout)
        self.encoder = nn.LSTM(
            d_model, width // 2, layers, batch_first=True, bidirectional=True
        )
        self.first = nn.Linear(width, width)
        self.key = nn.Linear(width, d_model, bias=False)
        self.query = nn.Linear(width, d_model, bias=False)
        self.attention = attention(d_model)
        self.decoder = nn.LSTMCell(d_model + width, width)
        keep_at_first(self.encoder)
        keep_at_first(self.decoder)

    def encode(
        self, source: Int[Tensor, "batch source_length"]
    ) -> tuple[Tensors, Tensors]:
        """Keys, values and mask; the first state, from both last ones."""
        x, seen = self.dropout(self.embedding(source)), source != PAD
        packed = pack_padded_sequence(
            x, seen.sum(1).cpu(), batch_first=True, enforce_sorted=False
        )
        states, (last, _) = self.encoder(packed)
        values, _ = pad_packed_sequence(
            states, batch_first=True, total_length=source.size(1)
        )
        values = self.dropout(values)
        first = self.first(last[-2:].transpose(0, 1).flatten(1)).tanh()
        memory = self.key(values), values, seen[:, None]
        return memory, (first, torch.zeros_like(first))


class RecurrentTranslator(RecurrentEncoder):
    """An LSTM with attention reads, another one writes (Bahdanau, 2015)."""

    def decode(
        self,
        target: Int[Tensor, "rows target_length"],
        memory: Tensors,
        state: Tensors,
    ) -> tuple[Float[Tensor, "rows target_length width"], Tensors]:
        """A state for each target token, each waiting for the one before."""
        states = []
        for x in self.dropout(self.embedding(target)).unbind(1):
            query = self.query(state[0])[:, None]
            context = self.attention(query, *memory)[:, 0]
            state = self.decoder(torch.cat([x, context], -1), state)
            states.append(state[0])
        return torch.stack(states, 1), state

    @torch.no_grad()
    def weights(
        self,
        source: Int[Tensor, "batch source_length"],
        target: Int[Tensor, "batch target_length"],
    ) -> Float[Tensor, "batch target_length source_length"]:
        """Where the decoder looks when it reads each target token."""
        (keys, values, mask), state = self.encode(source)
        states, _ = self.decode(target, (keys, values, mask), state)
        before = torch.cat([state[0][:, None], states[:, :-1]], 1)
        return self.attention.weights(self.query(before), keys, mask)


def joined(x: Tensor, y: Tensor) -> Tensor:
    """The sum of two vectors, with the variance of one."""
    return (x + y) * math.sqrt(0.5)


class GatedConvolution(nn.Module):
    """A convolution of which one half says how much of the other passes."""

    def __init__(self, width: int, places: int, dropout: float = 0.0):
        super().__init__()
        self.places = places
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(places * width, 2 * width)
        std = math.sqrt(4 * (1 - dropout) / (places * width))
        nn.init.normal_(self.linear.weight, std=std)
        nn.init.zeros_(self.linear.bias)

    def forward(
        self, x: Float[Tensor, "batch length width"], ahead: int = 0
    ) -> Float[Tensor, "batch length width"]:
        """Every output from its window, which ends so many places after it."""
        seen = windows(self.dropout(x), self.places, ahead)
        return F.glu(self.linear(seen.flatten(-2)))


class ConvolutionalEncoder(EncoderDecoder):
    """Gated convolutions, and all that a decoder will have learned."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        layers: int,
        places: int = 3,
        dropout: float = 0.0,
        max_length: int = 64,
    ):
        super().__init__(vocab_size, d_model, d_model, dropout)
        self.most_positions = max_length
        self.source_positions = LearnedPositions(d_model, max_length)
        self.target_positions = LearnedPositions(d_model, max_length)
        sizes, n = (d_model, places, dropout), range(layers)
        self.encoder = nn.ModuleList(GatedConvolution(*sizes) for _ in n)
        self.decoder = nn.ModuleList(GatedConvolution(*sizes) for _ in n)
        self.query = nn.ModuleList(nn.Linear(d_model, d_model) for _ in n)
        self.answer = nn.ModuleList(nn.Linear(d_model, d_model) for _ in n)
        self.attention = DotProductAttention()

    def encode(
        self, source: Int[Tensor, "batch source_length"]
    ) -> tuple[Tensors, Tensors]:
        """Keys, values and mask; a state in which nothing was written."""
        seen = source != PAD
        embedded = self.dropout(self.source_positions(self.embedding(source)))
        x = embedded
        for layer in self.encoder:
            x = x.masked_fill(~seen[:, :, None], 0.0)
            x = joined(x, layer(x, ahead=layer.places // 2))
        before = embedded.new_zeros(len(x), layer.places - 1, x.size(-1))
        state = source.new_zeros(len(x)), *[before for _ in self.decoder]
        return (x, joined(x, embedded), seen[:, None]), state


class ConvolutionalTranslator(ConvolutionalEncoder):
    """Convolutions read and write; every layer attends (Gehring, 2017)."""

    def decode(
        self,
        target: Int[Tensor, "rows target_length"],
        memory: Tensors,
        state: Tensors,
    ) -> tuple[Float[Tensor, "rows target_length width"], Tensors]:
        """A vector for each target token, all of them at once.

        The state is the next position, and for each layer the inputs to
        which its next window will reach back.
        """
        (start, *pasts), (keys, values, mask) = state, memory
        g = self.target_positions(self.embedding(target), int(start[0]))
        x = g = self.dropout(g)
        values = values * mask.sum(-1, keepdim=True).to(values).sqrt()
        presents = [start + target.size(1)]
        for layer, query, answer, past in zip(
            self.decoder, self.query, self.answer, pasts, strict=True
        ):
            both = torch.cat([past, x], 1)
            presents.append(both[:, target.size(1) :])
            y = layer(both)[:, past.size(1) :]
            c = self.attention(joined(query(y), g), keys, values, mask)
            x = joined(x, joined(y, answer(c)))
        return x, tuple(presents)


@dataclass(frozen=True)
class SearchState:
    """The memory, a row a sentence; the decoder's state, a row an attempt."""

    memory: Tensors
    state: Tensors

    def select(
        self, rows: Int[Tensor, "rows"], sentences: Int[Tensor, "batch"]
    ) -> "SearchState":
        """Reorder the attempts, and keep only these sentences."""
        return SearchState(
            tuple(part[sentences] for part in self.memory),
            tuple(part[rows] for part in self.state),
        )


def translator_step(model: EncoderDecoder) -> Step:
    """The step of a translator: one token more."""

    def step(tokens, search):
        x, state = model.decode(tokens[:, None], search.memory, search.state)
        log_p = model.logits(x[:, -1]).log_softmax(-1)
        return log_p, SearchState(search.memory, state)

    return step


@torch.inference_mode()
def search(
    model: EncoderDecoder,
    source: Int[Tensor, "batch source_length"],
    width: int = 4,
    alpha: float = 0.6,
    number: int = 1,
) -> list[list[Hypothesis]]:
    """The best outputs for each source; width 1 is greedy decoding."""
    state = SearchState(*model.encode(source))
    limits = length_limit(source, model.most_positions)
    return beam_search(
        translator_step(model), state, limits, width, alpha, number
    )
