"""Training loops: of a loss that draws its batches, and of pairs.

Of what was tried also the best, and of a model of pairs how well it predicts
and translates others.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from math import inf, isfinite
from typing import Any, TypeVar

import torch
from torch import Tensor

from annotated_transformer.data import (
    Example,
    Pair,
    Tokenizer,
    encode_pairs,
    training_batches,
)
from annotated_transformer.model import (
    EncoderDecoder,
    Transformer,
    transformer,
)
from annotated_transformer.optimizer import adam, linear_rate, set_rate
from annotated_transformer.runs.batches import Change, fixed_batches
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.training import (
    Objective,
    TrainConfig,
    Update,
    Validation,
    batch_loss,
    updates,
    validate,
)
from annotated_transformer.translation import Translator, corpus_scores

T = TypeVar("T")


def best(tried: Iterable[T], loss: Callable[[T], float]) -> T:
    """What ends with the least loss; what diverges does not."""

    def found(one: T) -> float:
        nats = loss(one)
        return nats if isfinite(nats) else inf

    return min(tried, key=found)


def lowest(
    loss: Callable[[float], float], rate: float, factor: float = 2
) -> float:
    """The rate that going up and down by a factor bring to the lowest loss."""
    loss = cache(loss)
    for change in (factor, 1 / factor):
        while best((rate, rate * change), loss) != rate:
            rate *= change
    return rate


def fit(
    loss: Callable[[], Tensor],
    optimizer: torch.optim.Optimizer,
    steps: int,
    peak_lr: float | None = None,
    warmup: int = 1,
    rate: Callable[[int], float] | None = None,
) -> list[float]:
    """Minimise a loss that draws a new batch each time; all its values.

    With a peak the rate rises to it in warmup steps and falls to zero. Else
    it is what `rate` gives for a step or, without that, the optimizer's own.
    """
    if peak_lr:
        rate = partial(linear_rate, peak=peak_lr, warmup=warmup, steps=steps)
    losses = []
    for step in range(1, steps + 1):
        now = loss()
        if rate:
            set_rate(optimizer, rate(step))
        optimizer.zero_grad()
        now.backward()
        optimizer.step()
        losses.append(now.item())
    return losses


def updates_on(
    examples: list[Example],
    model: EncoderDecoder,
    config: TrainConfig,
    resplit: Change | None = None,
    objective: Objective = batch_loss,
) -> Iterator[Update]:
    """The updates of a recipe on pairs, in the order of its seed, by Adam."""
    batches = training_batches(
        examples, config.batch_tokens, config.seed, resplit=resplit
    )
    optimizer, width = adam(model.parameters()), model.config.d_model
    return updates(
        model, batches, optimizer, config, width, objective=objective
    )


def make_updates(
    pairs: list[Pair],
    pieces: Tokenizer,
    model: EncoderDecoder,
    config: TrainConfig,
    objective: Objective = batch_loss,
) -> None:
    """Make all updates of a recipe on pairs."""
    examples, _ = encode_pairs(pairs, pieces, config.max_length)
    for _ in updates_on(examples, model, config, objective=objective):
        pass


def begun(
    recipe: Recipe,
    seed: int,
    pairs: list[Pair],
    pieces: Tokenizer,
    build: Callable[..., Any] = transformer,
    **options: Any,
) -> tuple[Any, Iterator[Update]]:
    """A new model, and the updates that train it on pairs.

    The options are those of updates_on.
    """
    config = replace(recipe.train, seed=seed)
    examples, _ = encode_pairs(pairs, pieces, config.max_length)
    torch.manual_seed(seed)
    model = build(replace(recipe.model, vocab_size=len(pieces)))
    return model, updates_on(examples, model, config, **options)


def trained(
    recipe: Recipe, seed: int, pairs: list[Pair], pieces: Tokenizer
) -> Transformer:
    """A new model after all updates of a recipe on pairs."""
    model: Transformer
    model, turns = begun(recipe, seed, pairs, pieces)
    for _ in turns:
        pass
    return model


def validated(
    model: EncoderDecoder,
    pieces: Tokenizer,
    pairs: list[Pair],
    max_length: int,
    batch_tokens: int = 2048,
) -> Validation:
    """How well a model predicts pairs of at most max_length tokens a side."""
    examples, _ = encode_pairs(pairs, pieces, max_length)
    return validate(model, fixed_batches(examples, batch_tokens))


def greedy_bleu(
    model: EncoderDecoder, pieces: Tokenizer, pairs: list[Pair]
) -> float:
    """Cased BLEU of greedy translations."""
    sources, references = zip(*pairs, strict=True)
    outputs = Translator(model, pieces)(list(sources), beam=1)
    return corpus_scores(outputs, references).bleu
