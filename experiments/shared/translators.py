"""The translators that are compared, their recipe, and how they are used."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from statistics import fmean

import torch
from torch import nn

from annotated_transformer.data import Example, pad
from annotated_transformer.decoding import beam_decode
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.recurrence import (
    ConvolutionalTranslator,
    DotProductAttention,
    RecurrentTranslator,
    search,
)
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

    def weights(self, query, keys, mask):
        """Nothing is looked at."""
        return torch.zeros_like(query @ keys.mT)


def models(
    vocab_size: int, layers: int | None = None
) -> dict[str, Callable[[], nn.Module]]:
    """The three translators, at one size, and the control.

    With layers, the encoders of the first two have so many.
    """
    config = ModelConfig(
        vocab_size=vocab_size,
        layers=2,
        d_model=64,
        d_ff=160,
        heads=4,
        dropout=0.0,
        pre_norm=True,
    )

    def transformer() -> Transformer:
        model = Transformer(config)
        if layers:
            deep = replace(config, layers=layers)
            model.encoder = Transformer(deep).encoder
        return model

    recurrent = partial(RecurrentTranslator, vocab_size, 64, 100)
    return {
        "transformer": transformer,
        "recurrent": partial(recurrent, layers=layers or 1),
        "convolutional": partial(ConvolutionalTranslator, vocab_size, 64, 3),
        "unattended": partial(recurrent, attention=lambda _: Unattended()),
    }


def trained(
    build: Callable[[], nn.Module],
    examples: list[Example],
    seed: int,
    rate: float,
    steps: int,
) -> tuple[nn.Module, list[float]]:
    """A model after its updates, and its mean loss of each 20 of them."""
    torch.manual_seed(seed)
    model = build()
    recipe = replace(TRAIN, steps=steps, peak_rate=rate, seed=seed)
    turns = updates_on(examples, model, recipe, 64)
    losses = [update.loss.item() for update in turns]
    return model.eval(), [
        round(fmean(losses[i : i + 20]), 4) for i in range(0, steps, 20)
    ]


def decoded(model: nn.Module, sources: list[list[int]]) -> list[list[int]]:
    """Greedy outputs, in batches of 100 sources."""
    find = beam_decode if isinstance(model, Transformer) else search
    return [
        best[0].tokens
        for i in range(0, len(sources), 100)
        for best in find(model, pad(sources[i : i + 100]), width=1)
    ]
