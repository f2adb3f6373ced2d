"""What an encoder has seen before a task that has few labels.

The task: a sentence of the built-in corpus has a word of two senses, such as
"bat"; say which is meant. Labels are scarce, sentences without labels are
not. "scratch" begins with nothing. "pretrained" has guessed hidden words of
the sentences without labels, and "pretrained longer" four times as many of
them. "static" begins with vectors made by counting
neighbours in them, "frozen" keeps these vectors as they are, and "random
frozen" keeps random ones. "dealt" begins with the counted vectors, too, but
each word has that of another, and "dealt frozen" keeps these (the controls of
"static").
"""

from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from annotated_transformer.corpora.builtin import (
    GrammarExample,
    example_splits,
    words,
)
from annotated_transformer.corpora.builtin.lexicon import SENSES
from annotated_transformer.corpora.corpus import Corpus, pairs_sha256
from annotated_transformer.data import pad
from annotated_transformer.embedding import PAD, UNK
from annotated_transformer.model import ModelConfig, Transformer, transformer
from annotated_transformer.optimizer import adam

from .shared.grid import grid
from .shared.training_loops import fit

WIDTH = 64
SIZES = {
    "layers": 2,
    "d_model": WIDTH,
    "d_ff": 2 * WIDTH,
    "heads": 4,
    "dropout": 0.1,
    "pre_norm": True,
}
RECIPE = {
    "model": SIZES,
    "unlabelled": 6000,
    "labelled": 80,
    "tested": 400,
    "hidden": 0.2,
    "pretraining": {"steps": 1000, "batch": 64, "rate": 2e-3, "warmup": 100},
    "tuning": {"steps": 300, "batch": 32, "rate": 1e-3, "warmup": 30},
}
LONGER = 4  # times the updates of "pretrained"
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
    found, seen = {}, {}
    for noun, cues in SENSES:
        number, sense = seen.get(noun.english, (len(seen), -1))
        seen[noun.english] = number, sense + 1
        for form in {noun.english, noun.plural} - {""}:
            for cue in cues:
                found[form, cue] = 2 * number + sense + 1
    return found


LABELS = labels()


@cache
def examples() -> tuple[list[GrammarExample], list[GrammarExample]]:
    """Sentences without labels, and those from which labelled ones come."""
    without, others, _ = example_splits(RECIPE["unlabelled"], 4000, 0)
    return without, others


def corpus() -> Corpus:
    """The part of the built-in corpus that is used."""
    train, valid = (
        [(x.source, x.target) for x in part] for part in examples()
    )
    sums = {"train": pairs_sha256(train), "valid": pairs_sha256(valid)}
    return Corpus(train, valid, {}, "builtin", "en", "de", sums)


@cache
def data() -> Data:
    """The sentences in words; the same for all runs."""
    without, others = examples()
    texts = [[w.lower() for w in words(x.source)] for x in without]
    known = sorted({word for text in texts for word in text})
    ids = {word: i for i, word in enumerate(known, start=MASK + 1)}
    shown = [(x, found) for x in others if (found := sense_of(x))]
    shown = shown[: RECIPE["labelled"] + RECIPE["tested"]]
    return Data(
        pad([ids[word] for word in text] for text in texts),
        pad(
            [ids.get(w.lower(), UNK) for w in words(x.source)]
            for x, _ in shown
        ),
        torch.tensor([place for _, (place, _) in shown]),
        torch.tensor([label for _, (_, label) in shown]),
        MASK + 1 + len(known),
    )


def build() -> Transformer:
    """The encoder; the decoder that comes with it stays unused."""
    return transformer(ModelConfig(data().vocabulary, **SIZES))


def guess_hidden_words(
    model: Transformer, sentences: Tensor, steps: int
) -> float:
    """Pre-train; returns the last loss, in nats a hidden word."""
    optimizer, how = adam(model.parameters()), RECIPE["pretraining"]

    def loss() -> Tensor:
        batch = sentences[torch.randint(len(sentences), (how["batch"],))]
        hidden = torch.rand(batch.shape) < RECIPE["hidden"]
        hidden &= batch != PAD
        memory = model.encode(batch.masked_fill(hidden, MASK))
        return F.cross_entropy(model.logits(memory[hidden]), batch[hidden])

    model.train()
    return fit(loss, optimizer, steps, how["rate"], how["warmup"])[-1]


def counted_vectors() -> Tensor:
    """A vector a word, from how often it stands within five words of others.

    Positive pointwise mutual information, cut to the WIDTH largest singular
    values, as long as the vectors of an untrained embedding.
    """
    text, count = data().unlabelled, torch.zeros(2 * [data().vocabulary])
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


def dealt_vectors(seed: int) -> Tensor:
    """The same vectors, dealt to the words by chance."""
    vectors, first = counted_vectors(), MASK + 1
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(vectors) - first, generator=generator)
    return torch.cat([vectors[:first], vectors[first:][order]])


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """How often the right one of a word's two senses has the higher score."""
    pairs = logits.unflatten(-1, (-1, 2))
    mine = pairs[torch.arange(len(labels)), labels // 2]
    return (mine.argmax(-1) == labels % 2).float().mean().item()


def tune(model: Transformer) -> dict:
    """Train on the labels all that is not frozen; test on new sentences."""
    found, kinds = data(), 2 * (max(LABELS.values()) // 2 + 1)
    head = torch.nn.Linear(WIDTH, kinds)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = adam([*trained, *head.parameters()])
    how = RECIPE["tuning"]

    def logits(places):
        memory = model.encode(found.sentences[places])
        rows = torch.arange(len(places))
        return head(memory[rows, found.places[places]])

    def loss() -> Tensor:
        places = torch.randint(RECIPE["labelled"], (how["batch"],))
        return F.cross_entropy(logits(places), found.labels[places])

    model.train()
    fit(loss, optimizer, how["steps"], how["rate"], how["warmup"])
    model.eval()
    with torch.no_grad():
        tested = torch.arange(RECIPE["labelled"], len(found.labels))
        right = accuracy(logits(tested), found.labels[tested])
    return {"accuracy": right}


def run(start: str, seed: int) -> dict:
    """Begin somewhere, train on the labels, and test."""
    torch.manual_seed(seed)
    model, result = build(), {}
    if start.startswith("pretrained"):
        steps = RECIPE["pretraining"]["steps"]
        if start == "pretrained longer":
            steps *= LONGER
            result["updates of pre-training"] = steps
        loss = guess_hidden_words(model, data().unlabelled, steps)
        result["loss of hidden words"] = loss
    table = model.source.tokens.weight
    if start in ("static", "frozen"):
        table.data = counted_vectors()
    if start in ("dealt", "dealt frozen"):
        table.data = dealt_vectors(seed)
    if start.endswith("frozen"):
        table.requires_grad_(False)
    return result | tune(model)


STARTS = (
    *("scratch", "pretrained", "pretrained longer"),
    *("static", "frozen", "random frozen"),
    *("dealt", "dealt frozen"),
)
MORE = ("scratch", "static", "dealt", "dealt frozen")  # with further seeds
KEY = "start={start} seed={seed}"
RUNS = grid(run, KEY, start=STARTS, seed=range(3))
RUNS |= grid(run, KEY, start=MORE, seed=range(3, 8))
