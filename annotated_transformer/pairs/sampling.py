"""Outputs drawn token by token, as often as the model finds them probable."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from annotated_transformer.decoding import (
    Hypothesis,
    SearchState,
    Step,
    beam_search,
    first_state,
    model_step,
)
from annotated_transformer.errors import check_fields
from annotated_transformer.model import EncoderDecoder, length_limit
from annotated_transformer.writing import next_token_probs

__all__ = ["Sampling", "drawn", "sample_decode"]


@dataclass(frozen=True)
class Sampling:
    """Draw each token with its probability; do not search for the best.

    The random numbers belong to a text's place among the texts, so what is
    drawn for it depends on no other text and, but for rounding, no batch.
    """

    top_k: int = 0  # likeliest tokens to draw from; 0: all
    temperature: float = 1.0  # divides the logits: above 1 more is tried
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(
            self, top_k=(0, 10**9), temperature=(0.01, 100), seed=(0, 10**12)
        )

    def numbers(self, place: int, count: int) -> list[float]:
        """The first `count` numbers in [0, 1) of the text at a place."""
        rng = random.Random(f"{self.seed} {place}")
        return [rng.random() for _ in range(count)]


def drawn(
    probs: Float[Tensor, "rows vocab_size"], numbers: Float[Tensor, "rows 1"]
) -> Int[Tensor, "rows 1"]:
    """The token of each row in whose part of [0, 1) its number falls.

    The parts are as long as the tokens are probable; one without a
    probability is never drawn.
    """
    ends = probs.cumsum(-1)
    last = ends[:, -1:]  # 1, but for rounding
    below = torch.nextafter(last, torch.zeros_like(last))
    where = torch.minimum(numbers * last, below)
    return torch.searchsorted(ends, where, right=True)


def sampling_step(model: EncoderDecoder, sampling: Sampling) -> Step:
    """The step of a model that leaves no choice but the token drawn.

    Beside what is written, the state has the numbers that each row has left.
    """
    step = model_step(model)

    def draw(tokens: Tensor, state: SearchState) -> tuple[Tensor, SearchState]:
        written, numbers = state.written
        log_p, after = step(tokens, replace(state, written=written))
        probs = next_token_probs(log_p, sampling.temperature, sampling.top_k)
        token = drawn(probs, numbers[:, :1])
        only = torch.full_like(log_p, -torch.inf)
        only.scatter_(1, token, log_p.gather(1, token))
        left = after.written, numbers[:, 1:]
        return only, replace(after, written=left)

    return draw


@torch.inference_mode()
def sample_decode(
    model: EncoderDecoder,
    source: Int[Tensor, "batch source_length"],
    sampling: Sampling,
    places: Sequence[int],
) -> list[Hypothesis]:
    """One output for each source, drawn with the numbers of its place.

    Log-probabilities are the model's own, whatever top_k and temperature.
    """
    limits = length_limit(source, model.max_positions)
    most = int(limits.max())
    numbers = torch.tensor(
        [sampling.numbers(place, most) for place in places],
        device=source.device,
    )
    state = first_state(model, source)
    state = replace(state, written=(state.written, numbers))
    step = sampling_step(model, sampling)
    found = beam_search(step, state, limits, width=1, alpha=0.0)
    return [best[0] for best in found]
