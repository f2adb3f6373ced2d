"""What an encoder has seen before a task that has few labels.

The task: a sentence of the built-in corpus has a word of two senses, such as
"bat"; say which is meant. Labels are scarce, sentences without labels are
not. One start is all random. Another has guessed hidden words of the
sentences without labels, and a third begins with vectors made by counting
neighbours in them. Its control has the counted vectors, too, but each word
has that of another.

Each seed draws all sentences anew, those with labels and those that test
among them. The rate on the labels is chosen for each start by itself: the
one with the best mean over three seeds, which do not decide.
"""

from copy import deepcopy
from functools import cache
from statistics import fmean
from typing import NamedTuple, TypedDict

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.corpora.builtin import (
    GrammarExample,
    example_splits,
    words,
)
from annotated_transformer.corpora.builtin.lexicon import SENSES
from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.large_text import pairs_sha256
from annotated_transformer.data import pad
from annotated_transformer.embedding import PAD, UNK
from annotated_transformer.model import ModelConfig, Transformer, transformer
from annotated_transformer.optimizer import adam

from .shared.grid import Result, grid
from .shared.settings import Sizes
from .shared.training_loops import fit

WIDTH = 64
SIZES: Sizes = {
    "layers": 2,
    "d_model": WIDTH,
    "d_ff": 2 * WIDTH,
    "heads": 4,
    "dropout": 0.1,
    "pre_norm": True,
}
UNLABELLED, LABELLED, TESTED = 6000, 80, 600  # sentences
HIDDEN = 0.2  # of the words


class Practice(TypedDict, total=False):
    """How a model learns."""

    steps: int
    batch: int
    rate: float
    warmup: int


PRETRAINING: Practice = {
    "steps": 4000,
    "batch": 32,
    "rate": 2e-3,
    "warmup": 100,
}
TUNING: Practice = {"steps": 300, "batch": 32, "warmup": 30}
RECIPE = {
    "model": SIZES,
    "unlabelled": UNLABELLED,
    "labelled": LABELLED,
    "tested": TESTED,
    "hidden": HIDDEN,
    "pretraining": PRETRAINING,
    "tuning": TUNING,
}
MASK = UNK + 1


class Data(NamedTuple):
    """Sentences as ids, and which sense of which word they show."""

    unlabelled: Tensor  # [sentences, length]
    sentences: Tensor  # [labelled and tested, length]
    places: Tensor  # where the word of two senses stands
    labels: Tensor  # 2 * the word's number + the sense
    vocabulary: int


def sense_of(example: GrammarExample) -> tuple[int, int] | None:
    """The place of a word of two senses, and its label."""
    if "sense" not in example.phenomena or not example.cues:
        return None
    place, cue = example.cues[0]
    text = [word.lower() for word in words(example.source)]
    found = LABELS.get((text[place], text[cue]))
    return None if found is None else (place, found)


def labels() -> dict[tuple[str, str], int]:
    """The label of a word, in singular or plural, beside a deciding word."""
    found, seen = {}, dict[str, tuple[int, int]]()
    for noun, cues in SENSES:
        number, sense = seen.get(noun.english, (len(seen), -1))
        seen[noun.english] = number, sense + 1
        for form in {noun.english, noun.plural} - {""}:
            for cue in cues:
                found[form, cue] = 2 * number + sense + 1
    return found


LABELS = labels()


def examples(seed: int) -> tuple[list[GrammarExample], list[GrammarExample]]:
    """Sentences without labels, and those from which labelled ones come."""
    without, others, _ = example_splits(UNLABELLED, 5000, 0, seed)
    return without, others


def corpus() -> Corpus:
    """The part of the built-in corpus that the first seed reads."""
    train, valid = (
        [(x.source, x.target) for x in part] for part in examples(0)
    )
    sums = {"train": pairs_sha256(train), "valid": pairs_sha256(valid)}
    return Corpus(train, valid, {}, "builtin", "en", "de", sums)


@cache
def data(seed: int) -> Data:
    """The sentences of a seed in words; those without labels by length."""
    without, others = examples(seed)
    texts = [[w.lower() for w in words(x.source)] for x in without]
    known = sorted({word for text in texts for word in text})
    ids = {word: i for i, word in enumerate(known, start=MASK + 1)}
    shown = [(x, found) for x in others if (found := sense_of(x))]
    shown = shown[: LABELLED + TESTED]
    return Data(
        pad([ids[word] for word in text] for text in sorted(texts, key=len)),
        pad(
            [ids.get(w.lower(), UNK) for w in words(x.source)]
            for x, _ in shown
        ),
        torch.tensor([place for _, (place, _) in shown]),
        torch.tensor([label for _, (_, label) in shown]),
        MASK + 1 + len(known),
    )


def trimmed(batch: Tensor) -> Tensor:
    """Without the columns that hold padding alone."""
    return batch[:, : int((batch != PAD).sum(1).max())]


def guess_hidden_words(model: Transformer, sentences: Tensor) -> float:
    """Pre-train; the mean of the last losses, in nats a hidden word."""
    optimizer, how = adam(model.parameters()), PRETRAINING
    last = len(sentences) - how["batch"]

    def loss() -> Tensor:
        first = int(torch.randint(last + 1, ()))  # of neighbours in length
        batch = trimmed(sentences[first : first + how["batch"]])
        hidden = torch.rand(batch.shape) < HIDDEN
        hidden &= batch != PAD
        memory = model.encode(batch.masked_fill(hidden, MASK))
        return F.cross_entropy(model.logits(memory[hidden]), batch[hidden])

    model.train()
    losses = fit(loss, optimizer, how["steps"], how["rate"], how["warmup"])
    return fmean(losses[-100:])


def counted_vectors(found: Data) -> Tensor:
    """A vector a word, from how often it stands within five words of others.

    Positive pointwise mutual information, cut to the WIDTH largest singular
    values, as long as the vectors of an untrained embedding.
    """
    text, count = found.unlabelled, torch.zeros(2 * [found.vocabulary])
    for gap in range(1, 6):
        left, right = text[:, :-gap].flatten(), text[:, gap:].flatten()
        both = (left != PAD) & (right != PAD)
        ones = torch.ones(int(both.sum()))
        count.index_put_((left[both], right[both]), ones, accumulate=True)
    count = count + count.T
    share = count.sum(1, keepdim=True).clamp(min=1) / count.sum()
    information = (count / count.sum() / (share * share.T)).log().clamp(min=0)
    u, s, _ = torch.linalg.svd(information)
    vectors = u[:, :WIDTH] * s[:WIDTH].sqrt()
    return F.normalize(vectors, dim=-1)


def dealt(vectors: Tensor) -> Tensor:
    """The same vectors, dealt to the words by chance."""
    first = MASK + 1
    order = torch.randperm(len(vectors) - first)
    return torch.cat([vectors[:first], vectors[first:][order]])


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """How often the right one of a word's two senses has the higher score."""
    pairs = logits.unflatten(-1, (-1, 2))
    mine = pairs[torch.arange(len(labels)), labels // 2]
    return (mine.argmax(-1) == labels % 2).float().mean().item()


def tune(model: Transformer, found: Data, rate: float) -> float:
    """Train on the labels; the share of new sentences that are right."""
    head = torch.nn.Linear(WIDTH, 2 * (max(LABELS.values()) // 2 + 1))
    optimizer = adam([*model.parameters(), *head.parameters()])
    how = TUNING

    def logits(places: Tensor) -> Tensor:
        memory = model.encode(trimmed(found.sentences[places]))
        rows = torch.arange(len(places))
        return head(memory[rows, found.places[places]])

    def loss() -> Tensor:
        places = torch.randint(LABELLED, (how["batch"],))
        return F.cross_entropy(logits(places), found.labels[places])

    model.train()
    fit(loss, optimizer, how["steps"], rate, how["warmup"])
    model.eval()
    with torch.no_grad():
        tested = torch.arange(LABELLED, len(found.labels))
        return accuracy(logits(tested), found.labels[tested])


def run(start: str, rates: list[float], seed: int) -> Result:
    """Begin somewhere; train copies on the labels, one a rate, and test."""
    found, result = data(seed), {}
    torch.manual_seed(seed)
    # the decoder that comes with the encoder stays unused
    model = transformer(ModelConfig(found.vocabulary, **SIZES))
    table = model.source.tokens.weight
    if start == "guessed hidden words":
        loss = guess_hidden_words(model, found.unlabelled)
        result["loss of hidden words"] = loss
    if start == "counted neighbours":
        table.data = counted_vectors(found)
    if start == "dealt wrongly":
        table.data = dealt(counted_vectors(found))
    for rate in rates:
        torch.manual_seed(seed)
        right = tune(deepcopy(model), found, rate)
        result[f"accuracy at {rate}"] = right
    return result


STARTS = (
    "all random",
    "guessed hidden words",
    "counted neighbours",
    "dealt wrongly",
)
RATES = [3e-3, 1e-2, 3e-2, 1e-1]
BEST = [3e-2]  # for each start, by the mean of seeds 0 to 2
KEY = "start={start} seed={seed}"
RUNS = grid(run, KEY, seed=range(3), start=STARTS, rates=[RATES])
RUNS |= grid(run, KEY, seed=range(3, 13), start=STARTS, rates=[BEST])
