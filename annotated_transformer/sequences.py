"""Layers that self-attention replaced: recurrence, LSTM, convolution (4).

Written in book/13_sequences.ipynb: edit the chapter, then `make package`.
"""

from functools import partial

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import Mask, check_mask
from annotated_transformer.heads import Projections

__all__ = [
    "Recurrence",
    "LSTM",
    "windows",
    "Convolution",
    "band",
    "RestrictedAttention",
]


class Recurrence(nn.Module):
    """h_t = tanh(W x_t + U h_{t-1} + b): a state passed from word to word."""

    def __init__(self, d_model: int):
        super().__init__()
        self.input = nn.Linear(d_model, d_model)
        self.state = nn.Linear(d_model, d_model, bias=False)

    def step(
        self,
        inputs: Float[Tensor, "*batch d_model"],
        state: Float[Tensor, "*batch d_model"],
    ) -> Float[Tensor, "*batch d_model"]:
        """The next state, from a projected word and the previous state."""
        return (inputs + self.state(state)).tanh()

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """All states, each computed after the one before."""
        inputs, states = self.input(x), []
        state = torch.zeros_like(x[:, 0])
        for t in range(x.size(1)):
            state = self.step(inputs[:, t], state)
            states.append(state)
        return torch.stack(states, dim=1)


class LSTM(nn.Module):
    """Long short-term memory: a recurrence whose gates guard a cell."""

    def __init__(self, d_model: int):
        super().__init__()
        self.input = nn.Linear(d_model, 4 * d_model)
        self.state = nn.Linear(d_model, 4 * d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """All states, each computed after the one before."""
        inputs, states = self.input(x), []
        state = cell = torch.zeros_like(x[:, 0])
        for t in range(x.size(1)):
            gates = inputs[:, t] + self.state(state)
            write, keep, new, show = gates.chunk(4, dim=-1)
            cell = keep.sigmoid() * cell + write.sigmoid() * new.tanh()
            state = show.sigmoid() * cell.tanh()
            states.append(state)
        return torch.stack(states, dim=1)


def windows(
    x: Shaped[Tensor, "*batch length width"],
    places: int,
    ahead: int = 0,
    dilation: int = 1,
) -> Shaped[Tensor, "*batch length places width"]:
    """Each position's neighbours, the last one `ahead` positions after it.

    Neighbours are `dilation` apart; beyond the ends they are zero.
    """
    length, behind = x.size(-2), places - 1 - ahead
    padded = F.pad(x, (0, 0, behind * dilation, ahead * dilation))
    starts = range(0, places * dilation, dilation)
    return torch.stack([padded[..., i : i + length, :] for i in starts], -2)


class Convolution(nn.Module):
    """y_t = b + sum_j W_j x_{t - j dilation}: one matrix per place."""

    def __init__(self, d_model: int, places: int, dilation: int = 1):
        super().__init__()
        self.places, self.dilation = places, dilation
        self.output = nn.Linear(places * d_model, d_model)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        """Every output from its own window, all at once."""
        seen = windows(x, self.places, dilation=self.dilation)
        return self.output(seen.flatten(-2))


def band(
    mask: Bool[Tensor, "*batch queries keys"], n: int, r: int
) -> Bool[Tensor, "*batch n 1 r"]:
    """Which of the r positions around it each of n queries may see."""
    mask = mask.expand(*mask.shape[:-2], n, n)
    mask = F.pad(mask, ((r - 1) // 2, r // 2))  # nothing beyond the ends
    diagonals = [mask.diagonal(place, -2, -1) for place in range(r)]
    return torch.stack(diagonals, dim=-1).unsqueeze(-2)


class RestrictedAttention(Projections):
    """Self-attention in which a query sees r positions around it (4)."""

    def __init__(self, r: int, *sizes):
        super().__init__(*sizes)
        self.r = r

    def forward(
        self,
        x: Float[Tensor, "batch length d_model"],
        memory: Float[Tensor, "batch length d_model"],
        mask: Mask | None = None,
    ) -> Float[Tensor, "batch length d_model"]:
        """Attend to r keys instead of all; memory is x."""
        check_mask(mask)
        if mask is None:
            mask = torch.ones(1, 1, dtype=torch.bool, device=x.device)
        near = partial(windows, places=self.r, ahead=self.r // 2)
        keys, values = map(near, self.keys_values(memory))
        heads = F.scaled_dot_product_attention(
            self.split(self.query(x)).unsqueeze(-2),  # one query per window
            keys,
            values,
            attn_mask=band(mask, x.size(1), self.r),
            dropout_p=self.dropout if self.training else 0.0,
        )
        return self.output(heads.squeeze(-2).transpose(1, 2).flatten(2))
