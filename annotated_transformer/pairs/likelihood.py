"""Scoring: how probable a model finds translations that are there already."""

from collections.abc import Iterable

import torch

from annotated_transformer.data import Pair
from annotated_transformer.decoding import length_penalty
from annotated_transformer.errors import check_budget, check_pairs
from annotated_transformer.pairs.placed_batches import placed_batches
from annotated_transformer.risk import log_probabilities
from annotated_transformer.speed.matrix_products import weights_at_rest
from annotated_transformer.storage.history import check_search
from annotated_transformer.translation import Translation, Translator

__all__ = ["score_pairs"]


@torch.inference_mode()
@weights_at_rest()
def score_pairs(
    translator: Translator,
    pairs: Iterable[Pair],
    alpha: float | None = None,
    batch_tokens: int = 1024,
) -> list[Translation]:
    """Each pair's target as a translation of its source, in their order.

    log_probability is log p(target | source) in nats, the sum over the
    target's pieces and the end symbol; score is that over the length penalty,
    as n_best tells it, with the translator's own alpha if none is given. To
    a blank source the translator says nothing: a blank target is certain
    there, and any other has -inf. A batch has at most batch_tokens tokens on
    a side, padding included, or as many as the longest text. UserError for
    what is no text, ValueError for an alpha or a batch that cannot be.
    """
    check_budget(batch_tokens)
    pairs = check_pairs(pairs)
    sources, targets = ([pair[i] for pair in pairs] for i in (0, 1))
    alpha = translator.alpha if alpha is None else alpha
    check_search(alpha=alpha)
    log_p = [-torch.inf if text.strip() else 0.0 for text in targets]
    encode = translator.tokenizer.encode
    labels = [encode(text) for text in targets]
    places = [i for i, text in enumerate(sources) if text.strip()]
    examples = [(encode(sources[i]), labels[i]) for i in places]
    for chosen, batch in placed_batches(examples, batch_tokens):
        batch = batch.to(translator.device)
        logits = translator.model(batch.source, batch.inputs, batch.where)
        sums = log_probabilities(logits.float(), batch.labels).tolist()
        for i, nats in zip(chosen, sums, strict=True):
            log_p[places[i]] = nats
    return [
        Translation(
            text, nats / length_penalty(len(ids), alpha), nats, len(ids)
        )
        for text, nats, ids in zip(targets, log_p, labels, strict=True)
    ]
