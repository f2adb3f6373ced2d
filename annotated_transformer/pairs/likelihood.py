"""How probable a model finds translations that are there already."""

from collections.abc import Iterable

import torch

from ..data import bucket, make_batch
from ..decoding import length_penalty
from ..errors import COUNT, check_kind
from ..loss import log_probabilities
from ..storage.history import Search
from ..training import evaluating
from ..translation import Translation, Translator
from .reading import Given, read_pairs


@torch.inference_mode()
def score_pairs(
    translator: Translator,
    pairs: Iterable[Given],
    alpha: float | None = None,
    batch_tokens: int = 1024,
) -> list[Translation]:
    """Each pair's target as a translation of its source, in their order.

    log_probability is log p(target | source) in nats, the sum over the
    target's subwords and the end symbol; a Translation has the subwords that
    its search chose. score is that over the length penalty, as in n_best, with
    the translator's own alpha if none is given. The pair is read as n_best
    reads and writes it: sentence by sentence, if both sides have as many, and
    capitals as a sentence, if both sides are in capitals. A batch has at most
    batch_tokens tokens on a side, padding included, or a single sentence.
    UserError for what is not text or too long, and for an alpha or a batch
    that cannot be.
    """
    check_kind("batch_tokens", batch_tokens, int, COUNT)
    alpha = translator.alpha if alpha is None else alpha
    Search(alpha=alpha)  # ValueError for one that cannot be
    read = [*read_pairs(translator, pairs)]
    examples = [(x.ids, y.ids) for _, parts in read for x, y in parts]
    log_p = [0.0] * len(examples)
    lengths = [(len(source), len(target)) for source, target in examples]
    for places in bucket(lengths, batch_tokens):
        batch = make_batch([examples[i] for i in places])
        batch = batch.to(translator.device)
        with evaluating(translator.model):
            logits = translator.model(batch.source, batch.inputs, batch.where)
        sums = log_probabilities(logits.float(), batch.labels).tolist()
        for i, nats in zip(places, sums, strict=True):
            log_p[i] = nats
    each, found = iter(log_p), []
    for text, parts in read:
        sizes = [len(target.ids) for _, target in parts]
        nats = [next(each) for _ in parts]
        scores = [
            x / length_penalty(size, alpha)
            for x, size in zip(nats, sizes, strict=True)
        ]
        totals = sum(scores, 0.0), sum(nats, 0.0), sum(sizes)
        found.append(Translation(text, *totals))
    return found
