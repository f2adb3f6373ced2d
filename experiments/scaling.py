"""How large, how long: the loss by parameters, tokens and operations.

Six sizes of a decoder alone learn the plays, character by character, and the
grammar: there a row is an English sentence and its German, and the loss is
that of the German, whose entropy is known. One training at a constant rate
gives the loss at many budgets. A fifth before each of them a copy is taken,
whose rate falls to nothing until it has spent the budget; the training itself
goes on. So a long training pays for the short ones, and each of them has ended
as it would have ended alone. The text that chooses the rate is not the text
that is measured on. Budgets are 6 N D operations.

On the plays the first seed spends eight times as much on every size, and the
others on the three sizes that were best there: what they find can be foretold
from the rest. The grammar has one seed.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from annotated_transformer.corpora.builtin import (
    GrammarExample,
    entropy_floor,
    example_splits,
    words,
)
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.running_text import plays
from annotated_transformer.data import (
    Batch,
    Example,
    bucket,
    pad,
    train_tokenizer,
)
from annotated_transformer.embedding import PAD
from annotated_transformer.loss import label_smoothing_loss
from annotated_transformer.modern import MODERN
from annotated_transformer.optimizer import adam, set_rate
from annotated_transformer.runs.prepare import learn_tokenizer
from annotated_transformer.runs.recipes import RUNNING_TEXT
from annotated_transformer.runs.windows import TextWindows, token_ids
from annotated_transformer.training import predict, validate
from annotated_transformer.writing import LanguageModel, LanguageModelConfig

from .shared.grid import Result, grid
from .shared.training_loops import best

LAYERS = {32: 2, 48: 2, 64: 3, 72: 4, 96: 5, 128: 6}  # by width
RECIPE: dict[str, Any] = {
    "layers": {str(width): layers for width, layers in LAYERS.items()},
    "batch": 384,  # tokens, with padding
    "window": 64,  # characters of the plays
    "pairs": 65_000,  # of the grammar
    "pieces": 256,  # its subwords
    "least": 1e10,  # operations of the least budget; each is twice the last
    "shortest": 100,  # updates
    "longest": 3.7e6,  # tokens
    "decay": 0.2,  # of a budget
    "warmup": 50,  # updates
    "clip": 1.0,
    "rates": [0.25, 0.5, 1.0],  # tried, divided by the width
    "trial": 100,  # updates of each rate
}
WIDTHS = [*LAYERS]
LARGEST = (  # budgets: text, seeds, widths
    (1.28e12, "plays", [0], WIDTHS),
    (1.28e12, "plays", [1, 2], WIDTHS[1:4]),  # where the best size is sought
    (1.6e11, "plays", [1, 2], WIDTHS[:1] + WIDTHS[4:]),
    (3.2e11, "grammar", [0], WIDTHS[1:]),
    (6.4e11, "grammar", [0], WIDTHS[:1]),  # which comes nearest to the floor
)


class Text(NamedTuple):
    """What a model learns from, and is chosen and measured by."""

    pieces: int
    batches: Callable[[int], Iterator[Batch]]  # of a seed, for ever
    tokens: float  # that an update reads, without padding
    valid: Iterable[Batch]
    test: Iterable[Batch]
    units: float  # words or characters of a token that is asked for
    floor: float | None  # of the test text, nats a unit


@cache
def examples() -> tuple[list[GrammarExample], ...]:
    """Pairs of the grammar to learn from, to choose by, to measure on."""
    return example_splits(RECIPE["pairs"], 500, 1000)


@cache
def corpus() -> Corpus:
    """The pairs of the grammar; the plays by their checksum."""
    train, valid, test = (
        [(one.source, one.target) for one in part] for part in examples()
    )
    pairs = Corpus.from_pairs(train, valid, tests={"test": test})
    sums = pairs.checksums | {"plays": plays().checksums["text"]}
    return replace(pairs, name="grammar, plays", checksums=sums)


@cache
def text_of_plays() -> Text:
    """The plays, in windows; the tenth held out is halved."""
    tokenizer = learn_tokenizer(plays(), RUNNING_TEXT)
    learned, held_out = (
        token_ids(plays(), tokenizer, part) for part in (False, True)
    )
    length = RECIPE["window"]
    rows, half = RECIPE["batch"] // length, len(held_out) // 2

    def batches(seed: int) -> Iterator[Batch]:
        return TextWindows(learned, length, rows, seed).batches()

    valid, test = (
        [*TextWindows(ids, length, 64)]
        for ids in (held_out[:half], held_out[half:])
    )
    size = len(tokenizer)
    return Text(size, batches, rows * length, valid, test, 1.0, None)


def asked_for_german(rows: list[tuple[list[int], list[int]]]) -> Batch:
    """Each pair in a row; the loss is that of the second half."""
    ids = pad(source + target for source, target in rows)
    inputs, labels = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    begins = torch.tensor([[len(source) - 1] for source, _ in rows])
    german = torch.arange(labels.size(1)) >= begins
    places = (german & (labels != PAD)).flatten().nonzero().flatten()
    targets = labels.flatten()[places]
    return Batch(ids[:, :0], inputs, labels, places, targets)


@cache
def text_of_grammar() -> Text:
    """English and German in a row, in subwords, alike in length."""
    train, valid, test = examples()
    some = [side for one in train[:5000] for side in (one.source, one.target)]
    tokenizer = train_tokenizer(some, RECIPE["pieces"])

    def encoded(part: list[GrammarExample]) -> list[Example]:
        return [
            (tokenizer.encode(one.source), tokenizer.encode(one.target))
            for one in part
        ]

    def batched(rows: list[Example], seed: str) -> Iterator[Batch]:
        lengths = [(len(source) + len(target),) for source, target in rows]
        for places in bucket(lengths, RECIPE["batch"], seed):
            yield asked_for_german([rows[i] for i in places])

    learned, chosen, tried = map(encoded, (train, valid, test))

    def batches(seed: int) -> Iterator[Batch]:
        for epoch in count():
            yield from batched(learned, f"{seed} {epoch}")

    lengths = [(len(source) + len(target),) for source, target in learned]
    tokens = sum(map(sum, lengths)) / len(bucket(lengths, RECIPE["batch"]))
    german = sum(len(words(one.target)) for one in test)
    return Text(
        len(tokenizer),
        batches,
        tokens,
        [*batched(chosen, "")],
        [*batched(tried, "")],
        german / sum(len(target) for _, target in tried),
        entropy_floor(test) * len(test) / german,
    )


TEXTS = {"plays": text_of_plays, "grammar": text_of_grammar}


def build(text: Text, width: int) -> LanguageModel:
    """A decoder alone with today's parts; a head is 16 wide or wider."""
    config = LanguageModelConfig(
        vocab_size=text.pieces,
        layers=LAYERS[width],
        d_model=width,
        d_ff=4 * width,
        heads=2 if width < 64 else 4,
        dropout=0.0,
        **MODERN,
    )
    return LanguageModel(config)


# not `fit`: gradients are clipped, and copies learn on beside the training
def update(
    model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch
) -> Tensor:
    """One update; returns the loss per token that was asked for."""
    loss = label_smoothing_loss(predict(model, batch), batch.targets, 0.0)
    loss = loss / batch.tokens
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), RECIPE["clip"])
    optimizer.step()
    return loss.detach()


def ended(
    model: LanguageModel,
    optimizer: torch.optim.Optimizer,
    batches: list[Batch],
    rate: float,
) -> LanguageModel:
    """A copy that learns on while its rate falls to zero in a line."""
    model, state = deepcopy(model), deepcopy(optimizer.state_dict())
    optimizer = adam(model.parameters())
    optimizer.load_state_dict(state)
    for left, batch in zip(range(len(batches), 0, -1), batches, strict=True):
        set_rate(optimizer, rate * left / (len(batches) + 1))
        update(model, optimizer, batch)
    return model


def train(
    text: Text, width: int, rate: float, seed: int, ends: list[int]
) -> Iterator[LanguageModel]:
    """The model after each number of updates, as if it had ended there."""
    torch.manual_seed(seed)
    model, stream = build(text, width), text.batches(seed)
    optimizer, step = adam(model.parameters()), 0
    ahead: list[Batch] = []
    for end in ends:
        begin = round((1 - RECIPE["decay"]) * end)
        while step < begin:
            step += 1
            set_rate(optimizer, rate * min(1.0, step / RECIPE["warmup"]))
            batch = ahead.pop(0) if ahead else next(stream)
            update(model, optimizer, batch)
        while len(ahead) < end - step:
            ahead.append(next(stream))
        yield ended(model, optimizer, ahead[: end - step], rate)


@cache
def trials(name: str, width: int) -> dict[float, float]:
    """The validation loss of a short training at each rate."""
    text, ends = TEXTS[name](), [RECIPE["trial"]]
    return {
        rate: validate(model, text.valid).loss
        for rate in (factor / width for factor in RECIPE["rates"])
        for model in train(text, width, rate, 1000, ends)
    }


def curve(seed: int, name: str, width: int, largest: float) -> Result:
    """The test loss of a size at every budget that it can spend."""
    text, losses = TEXTS[name](), trials(name, width)
    rate = best(losses, losses.__getitem__)
    parameters = sum(x.numel() for x in build(text, width).parameters())
    budgets = [
        RECIPE["least"] * 2**i
        for i in range(round(math.log2(largest / RECIPE["least"])) + 1)
    ]
    updates = {
        budget: round(budget / (6 * parameters * text.tokens))
        for budget in budgets
    }
    ends = {
        budget: number
        for budget, number in updates.items()
        if RECIPE["shortest"] <= number
        and number * text.tokens <= RECIPE["longest"]
    }
    models = train(text, width, rate, seed, [*ends.values()])
    return {
        "parameters": parameters,
        "rates": list(losses),
        "tried": [round(loss, 4) for loss in losses.values()],
        "budgets": [*ends],
        "tokens": [round(number * text.tokens) for number in ends.values()],
        "losses": [
            round(validate(model, text.test).loss / text.units, 4)
            for model in models
        ],
        "floor": text.floor,
    }


RUNS = {
    key: run
    for largest, name, seeds, widths in LARGEST
    for key, run in grid(
        curve,
        "{name} width={width} seed={seed}",
        name=[name],
        seed={seed: {"seed": seed, "largest": largest} for seed in seeds},
        width=widths,
    ).items()
}
