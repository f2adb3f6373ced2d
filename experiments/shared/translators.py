"""The translators that are compared, their recipe, and how they are used."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from statistics import fmean

import torch
from torch import Tensor

from annotated_transformer.data import Example, pad
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import (
    EncoderDecoder,
    Transformer,
    transformer,
)
from annotated_transformer.recurrence import (
    ConvolutionalConfig,
    DotProductAttention,
    RecurrentConfig,
    convolutional_translator,
    recurrent_translator,
)
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.training import TrainConfig

from .training_loops import updates_on

RATES = {
    "transformer": 6e-3,
    "recurrent": 1.2e-2,
    "convolutional": 1.2e-2,
    "unattended": 1.2e-2,
}
TRAIN = TrainConfig(
    steps=1500, batch_tokens=1024, schedule="linear", warmup=60, clip=1.0
)
RECIPE = asdict(TRAIN) | {"rates": RATES, "vocab_size": 1000}


class Unattended(DotProductAttention):
    """The control: weights of zero, so that no memory reaches the decoder."""

    def weights(self, query: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Nothing is looked at."""
        return torch.zeros_like(query @ keys.mT)


def models(
    vocab_size: int, layers: int | None = None
) -> dict[str, Callable[[], EncoderDecoder]]:
    """The three translators, at one size, and the control.

    With layers, the encoders of the first two have so many.
    """
    # the parser that `train --task parsing` makes is one of them
    config = replace(RECIPES["parsing"].model, vocab_size=vocab_size)
    lstm = RecurrentConfig(vocab_size, 64, width=100)
    windows = ConvolutionalConfig(vocab_size, 64, layers=3, max_length=64)

    def attentive() -> Transformer:
        model = transformer(config)
        if layers:
            deep = replace(config, layers=layers)
            model.encoder = transformer(deep).encoder
        return model

    return {
        "transformer": attentive,
        "recurrent": partial(
            recurrent_translator, replace(lstm, layers=layers or 1)
        ),
        "convolutional": partial(convolutional_translator, windows),
        "unattended": partial(
            recurrent_translator, lstm, lambda _: Unattended()
        ),
    }


def trained(
    build: Callable[[], EncoderDecoder],
    examples: list[Example],
    seed: int,
    rate: float,
    steps: int,
    warmup: int = TRAIN.warmup,
) -> tuple[EncoderDecoder, list[float]]:
    """A model after its updates, and its mean loss of each 20 of them."""
    torch.manual_seed(seed)
    model = build()
    recipe = replace(
        TRAIN, steps=steps, peak_lr=rate, warmup=warmup, seed=seed
    )
    turns = updates_on(examples, model, recipe)
    losses = [update.loss.item() for update in turns]
    return model.eval(), [
        round(fmean(losses[i : i + 20]), 4) for i in range(0, steps, 20)
    ]


def decoded(
    model: EncoderDecoder, sources: list[list[int]]
) -> list[list[int]]:
    """Greedy outputs, in batches of 100 sources."""
    return [
        best[0].tokens
        for i in range(0, len(sources), 100)
        for best in beam_decode(model, pad(sources[i : i + 100]), width=1)
    ]
