"""How probable a model finds translations that are there already."""

from collections.abc import Iterable

import torch

from ..data import Pair, bucket, make_batch
from ..decoding import length_penalty
from ..errors import check_budget, check_pairs
from ..loss import log_probabilities
from ..storage.history import Search
from ..translation import Translation, Translator


@torch.inference_mode()
def score_pairs(
    translator: Translator,
    pairs: Iterable[Pair],
    alpha: float | None = None,
    batch_tokens: int = 1024,
) -> list[Translation]:
    """Each pair's target as a translation of its source, in their order.

    log_probability is log p(target | source) in nats, the sum over the
    target's subwords and the end symbol. score is that over the length
    penalty, as in n_best, with the translator's own alpha if none is given.
    A batch has at most batch_tokens tokens on a side, padding included, or a
    single pair. UserError for what is not text, and for an alpha or a batch
    that cannot be.
    """
    check_budget(batch_tokens)
    pairs = check_pairs(pairs)
    alpha = translator.alpha if alpha is None else alpha
    Search(alpha=alpha)  # ValueError for one that cannot be
    encode = translator.tokenizer.encode
    examples = [(encode(source), encode(target)) for source, target in pairs]
    log_p = [0.0] * len(pairs)
    lengths = [(len(source), len(target)) for source, target in examples]
    for places in bucket(lengths, batch_tokens):
        batch = make_batch([examples[i] for i in places])
        batch = batch.to(translator.device)
        logits = translator.model(batch.source, batch.inputs, batch.where)
        sums = log_probabilities(logits.float(), batch.labels).tolist()
        for i, nats in zip(places, sums, strict=True):
            log_p[i] = nats
    return [
        Translation(
            target, nats / length_penalty(len(ids), alpha), nats, len(ids)
        )
        for (_, target), (_, ids), nats in zip(
            pairs, examples, log_p, strict=True
        )
    ]
