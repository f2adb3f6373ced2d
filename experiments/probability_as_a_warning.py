"""The model's own probability as a warning: of wrong words, of foreign texts.

Two questions to the shipped model. "words": given the true subwords before it,
how often is the likeliest subword of the three tests right, by the probability
that the model gives it? In a control, chance decides by that probability what
is right. "texts": do captions get more log-probability per subword, for their
own translations, than lines of Shakespeare? In a control other captions stand
in place of the lines; and a warning that asks no model counts the subwords per
word of the source. A seed draws sentences of each text, as many as there are,
with replacement; "shown" is of the texts as they are, for the figures.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
import torch
from sacrebleu.metrics import CHRF
from scipy.stats import rankdata, spearmanr

from annotated_transformer.data import encode_pairs, make_batch, pad
from annotated_transformer.decoding import beam_decode

from .shared import shipped_translator
from .shared.grid import Result, grid
from .shared.shipped_translator import SEARCH, corpus, redrawn, translator

# a thousand lines of five words or more, drawn from Tiny Shakespeare
LINES = Path(__file__).parent / "shared" / "shakespeare.txt"
OURS, OTHERS = "test_2016_flickr", "test_2017_flickr"
ALIKE = range(7, 11)  # words of captions and lines that are alike in length
BINS = 10  # of probability, alike in width
ALARMS = 0.05  # of captions, falsely
EDGES = np.linspace(-4, 0, 33)  # of log-probabilities, for a figure
SEEDS = range(20)
RECIPE = (
    shipped_translator.RECIPE
    | SEARCH
    | {"lines": sha256(LINES.read_bytes()).hexdigest()}
)


class Word(NamedTuple):
    """A subword that the model gives the highest probability."""

    confidence: float
    right: bool


class Output(NamedTuple):
    """What is known of a translation without a reference, and its chrF."""

    nats: float  # log-probability per subword, the end included
    words: int  # of the source
    split: float  # subwords per word of the source
    chrf: float  # 0 where there is no reference


@cache
def predictions() -> list[list[Word]]:
    """The likeliest subwords, sentence by sentence, of the three tests."""
    pairs = [pair for test in corpus().tests.values() for pair in test]
    examples, _ = encode_pairs(pairs, translator().tokenizer, 512)
    found = []
    for i in range(0, len(examples), 50):
        batch = make_batch(examples[i : i + 50])
        with torch.no_grad():
            logits = translator().model(batch.source, batch.inputs)
        best, ids = logits.softmax(-1).max(-1)
        right = ids == batch.labels
        for row in zip(best, right, batch.where, strict=True):
            confidence, hits, where = row
            values = confidence[where].tolist(), hits[where].tolist()
            found.append([*map(Word, *values)])
    return found


@cache
def outputs(name: str) -> list[Output]:
    """The translations of a test, of the validation text or of the lines."""
    if name == "lines":
        pairs = [(line, "") for line in LINES.read_text("utf-8").splitlines()]
    elif name == "valid":
        pairs = corpus().valid
    else:
        pairs = corpus().tests[name]
    model, tokenizer = translator().model, translator().tokenizer
    ids = [tokenizer.encode(source) for source, _ in pairs]
    found, chrf = [], CHRF()
    for i in range(0, len(ids), 50):
        lists = beam_decode(
            model,
            pad(ids[i : i + 50]),
            SEARCH["beam"],
            SEARCH["alpha"],
            no_repeat=SEARCH["no_repeat"],
        )
        for row, (source, reference), (best,) in zip(
            ids[i : i + 50], pairs[i : i + 50], lists, strict=True
        ):
            words = len(source.split())
            text = tokenizer.decode(best.tokens)
            score = chrf.sentence_score(text, [reference]).score
            found.append(
                Output(
                    best.log_probability / (len(best.tokens) + 1),
                    words,
                    (len(row) - 1) / words,
                    score if reference else 0.0,
                )
            )
    return found


def arrays(sentences: list[list[Word]]) -> tuple[np.ndarray, np.ndarray]:
    """The confidence of all their subwords, and which of them are right."""
    words = [word for sentence in sentences for word in sentence]
    confidence, right = np.array(words, dtype=float).T
    return confidence, right


def calibration(confidence: np.ndarray, right: np.ndarray) -> Result:
    """Shares, mean confidence and share of right subwords, by bins."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    members = [bins == i for i in range(BINS) if (bins == i).any()]
    return {
        "share": [float(some.mean()) for some in members],
        "confidence": [float(confidence[some].mean()) for some in members],
        "right": [float(right[some].mean()) for some in members],
    }


def error(found: Mapping[str, Sequence[float]]) -> float:
    """The expected calibration error: how far bins are off, on the mean."""
    rows = zip(*found.values(), strict=True)
    return sum(share * abs(said - was) for share, said, was in rows)


def words(seed: int) -> dict[str, float]:
    """How well the probability of a subword says how often it is right."""
    confidence, right = arrays(redrawn(predictions(), seed))
    chance = np.random.default_rng(seed).random(len(right)) < confidence
    return {
        "error": error(calibration(confidence, right)),
        "control_error": error(calibration(confidence, chance)),
        "confidence": float(confidence.mean()),
        "right": float(right.mean()),
        "right_above_wrong": above(
            confidence[right > 0], confidence[right == 0]
        ),
        "chance_above": above(confidence[chance], confidence[~chance]),
    }


def above(first: Collection[float], second: Collection[float]) -> float:
    """The share of pairs in which the first is higher; equals are halves."""
    ranks = rankdata([*first, *second])[: len(first)]
    least = len(first) * (len(first) + 1) / 2
    return float((ranks.sum() - least) / (len(first) * len(second)))


def texts(seed: int) -> dict[str, float]:
    """How well log-probability per subword tells texts apart."""
    ours, others, lines = (
        redrawn(outputs(name), seed) for name in (OURS, OTHERS, "lines")
    )
    nats = [output.nats for output in ours]
    alarm = np.quantile(nats, ALARMS)
    alike = [
        [output.nats for output in some if output.words in ALIKE]
        for some in (ours, lines)
    ]
    return {
        "lines": above(nats, [x.nats for x in lines]),
        "captions": above(nats, [x.nats for x in others]),
        "lines_alike_in_length": above(*alike),
        "lines_by_subwords": above(
            [x.split for x in lines], [x.split for x in ours]
        ),
        "lines_caught": fmean(x.nats < alarm for x in lines),
        "rank_correlation_with_chrf": float(
            spearmanr(nats, [x.chrf for x in ours]).statistic
        ),
        "nats_ours": fmean(nats),
        "nats_others": fmean(x.nats for x in others),
        "nats_lines": fmean(x.nats for x in lines),
    }


def threshold(seed: int) -> dict[str, float]:
    """The log-probability per subword that all but a share of captions reach.

    It is that of the validation text, as it is, whatever the seed; then the
    share of each text that is below.
    """
    nats = {
        name: [output.nats for output in outputs(name)]
        for name in ("valid", OURS, OTHERS, "lines")
    }
    least = float(np.quantile(nats["valid"], ALARMS))
    below = {
        f"below, {name}": fmean(x < least for x in some)
        for name, some in nats.items()
    }
    return {"threshold": least} | below


def shown(seed: int) -> Result:
    """For the figures: all bins, and how log-probabilities are spread.

    The texts are taken as they are, whatever the seed.
    """
    found = {
        name: np.histogram(
            np.clip([x.nats for x in outputs(name)], EDGES[0], EDGES[-1]),
            EDGES,
        )[0].tolist()
        for name in (OURS, OTHERS, "lines")
    }
    return {
        "bins": calibration(*arrays(predictions())),
        "edges": EDGES.tolist(),
        "counts": found,
    }


RUNS = grid(words, "words seed={seed}", seed=SEEDS)
RUNS |= grid(texts, "texts seed={seed}", seed=SEEDS)
RUNS |= grid(threshold, "threshold seed={seed}", seed=[0])
RUNS |= grid(shown, "shown seed={seed}", seed=[0])
