"""Exercises of chapter 12: maps of words, and what a key receives."""

import torch
from torch import Tensor

from annotated_transformer.teaching.exercises.judge import Exercise


def maps_of_pieces() -> list[tuple[Tensor, Tensor, Tensor]]:
    """Weights of two heads, and the word that each piece belongs to."""
    draw = torch.Generator().manual_seed(14)
    cases = []
    for queries, keys in (
        ([0, 0, 1], [0, 1, 1, 1, 2]),
        ([0, 1, 2, 2], [0, 0, 1, 2, 2, 2]),
        ([0], [0, 1]),
    ):
        scores = torch.randn(2, len(queries), len(keys), generator=draw)
        words = torch.tensor(queries), torch.tensor(keys)
        cases.append((scores.softmax(-1), *words))
    return cases


def gathered(
    weights: Tensor,
    queries: Tensor,
    keys: Tensor,
    rows: str = "mean",
    columns: str = "sum",
) -> Tensor:
    """Word by word: rows and columns put together by their own rules."""
    across = [
        getattr(weights[..., keys == word], columns)(-1)
        for word in range(int(keys.max()) + 1)
    ]
    weights = torch.stack(across, -1)
    down = [
        getattr(weights[:, queries == word], rows)(1)
        for word in range(int(queries.max()) + 1)
    ]
    return torch.stack(down, 1)


def maps_of_batches() -> list[tuple[Tensor, Tensor]]:
    """Weights [batch, heads, queries, keys], and which queries are real."""
    draw = torch.Generator().manual_seed(15)
    cases = []
    for lengths in ([4, 2], [3, 5, 1]):
        n = max(lengths)
        real = torch.tensor([[i < m for i in range(n)] for m in lengths])
        scores = torch.randn(len(lengths), 3, n, 6, generator=draw)
        cases.append((scores.softmax(-1), real))
    return cases


def received(weights: Tensor, real: Tensor) -> Tensor:
    """Example by example, from the queries that are real."""
    each = zip(weights, real, strict=True)
    return torch.stack([maps[:, where].sum(1).mean(0) for maps, where in each])


def only_real(weights: Tensor, real: Tensor) -> Tensor:
    """The weights, zero for queries that are padding."""
    return weights * real[:, None, :, None]


EXERCISES = [
    Exercise(
        "by-word",
        "12_inside_heads",
        "write f(weights, queries, keys), maps between words from maps "
        "[heads, queries, keys] between subwords. The others say which word "
        "each belongs to, counted from 0.",
        "words of one to three subwords",
        maps_of_pieces,
        gathered,
        {
            "The weights on the subwords of a word are averaged. A word gets "
            "what they get together.": (
                lambda w, q, k: gathered(w, q, k, columns="mean")
            ),
            "The rows of a word's subwords are added: its weights no longer "
            "sum to one.": lambda w, q, k: gathered(w, q, k, rows="sum"),
            "Queries and keys are exchanged: rows are averaged, columns are "
            "added.": lambda w, q, k: gathered(w, q, k, "sum", "mean"),
            "Only the strongest subword is counted among a word's keys.": (
                lambda w, q, k: gathered(w, q, k, columns="amax")
            ),
            "Only the strongest row of a word is taken.": (
                lambda w, q, k: gathered(w, q, k, rows="amax")
            ),
            "The heads are averaged: each has a map of its own.": (
                lambda w, q, k: gathered(w, q, k).mean(0)
            ),
        },
    ),
    Exercise(
        "what-keys-receive",
        "12_inside_heads",
        "write f(weights, real), what each key [batch, keys] receives from "
        "all queries, mean over heads. weights is [batch, heads, queries, "
        "keys]; real [batch, queries] is False where a query is padding.",
        "batches with padded queries",
        maps_of_batches,
        received,
        {
            "Queries that are padding spend weight, too. Leave their rows "
            "out.": lambda w, real: w.sum(2).mean(1),
            "This is the mean over the queries, not what they give in all.": (
                lambda w, real: received(w, real) / real.sum(1, keepdim=True)
            ),
            "This is the mean over all queries, padding included.": (
                lambda w, real: w.mean((1, 2))
            ),
            "The rows of padding are gone, but they still count in the "
            "mean, and a sum is asked for.": (
                lambda w, real: only_real(w, real).mean((1, 2))
            ),
            "The heads are added. Their mean is asked for.": (
                lambda w, real: only_real(w, real).sum((1, 2))
            ),
            "The heads are kept apart. Their mean is asked for.": (
                lambda w, real: only_real(w, real).sum(2)
            ),
            "The sum runs over the keys: that is what a query spends, and "
            "always one.": lambda w, real: w.sum(3).mean(1),
        },
    ),
]
