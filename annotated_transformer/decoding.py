"""Decoding: beam search over any step, and over the model (6.1).

Written in book/10_decoding.ipynb: edit the chapter, then `make package`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd, inf
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.errors import UserError
from annotated_transformer.model import EncoderDecoder, Nested, length_limit

__all__ = [
    "best_continuations",
    "length_penalty",
    "Hypothesis",
    "Beam",
    "repeating",
    "collect",
    "Step",
    "Rule",
    "forbidden",
    "beam_search",
    "tree_map",
    "SearchState",
    "model_step",
    "first_state",
    "beam_decode",
]


def best_continuations(
    live: Float[Tensor, "batch places"],
    log_p: Float[Tensor, "rows vocab"],
    width: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The best `width` of all one-token continuations of a sentence's rows.

    Returns their log-probabilities, the rows they continue and their tokens,
    each [batch width], best first, or all of them if there are fewer.
    """
    vocab = log_p.size(-1)
    size = gcd(vocab, 64)
    blocks = log_p.view(len(live), -1, size)
    before = live.repeat_interleave(vocab // size, dim=1)
    maxima = before + blocks.amax(-1)
    best = maxima.topk(min(width, maxima.size(1))).indices
    before = before.gather(1, best)
    best = best[:, :, None].expand(-1, -1, size)  # once for each token
    total = (before[:, :, None] + blocks.gather(1, best)).flatten(1)
    scores, index = total.topk(min(width, total.size(1)))
    inside = torch.arange(size, device=live.device)
    candidates = torch.add(inside, best, alpha=size)  # size * best + inside
    candidate = candidates.flatten(1).gather(1, index)
    return scores, candidate // vocab, candidate % vocab


def length_penalty(length: int, alpha: float) -> float:
    """lp(n) = ((5 + n) / 6)^alpha, by which log-probabilities are divided."""
    return ((5 + length) / 6) ** alpha


@dataclass(frozen=True)
class Hypothesis:
    """An output: its tokens without EOS, and how good it is."""

    tokens: list[int]
    log_probability: float  # of all its tokens, EOS included, in nats
    score: float  # log_probability / length penalty
    finished: bool  # with EOS; False if the limit cut it


class Beam:
    """The search for one sentence: its places and ended hypotheses."""

    def __init__(self, width: int, alpha: float, limit: int):
        self.width, self.alpha, self.limit = width, alpha, limit
        self.ended: list[Hypothesis] = []

    def end(self, tokens: list[int], log_probability: float) -> None:
        """Add a hypothesis that has ended; it keeps its place in the beam."""
        score = log_probability / length_penalty(len(tokens), self.alpha)
        finished = tokens[-1] == EOS
        if finished:
            tokens = tokens[:-1]
        self.ended.append(Hypothesis(tokens, log_probability, score, finished))

    def best(self, number: int) -> list[Hypothesis]:
        """The ended hypotheses with the highest scores, best first."""
        ranked = sorted(self.ended, key=lambda h: h.score, reverse=True)
        return ranked[:number]

    def done(self, live: float, number: int) -> bool:
        """True if the best live hypothesis cannot reach the best `number`.

        Its log-probability can only fall; the most it can gain is the
        penalty of the longest output allowed.
        """
        if live == -inf or len(self.ended) < number:
            return live == -inf
        bound = live / length_penalty(self.limit, self.alpha)
        return bound <= self.best(number)[-1].score


def repeating(
    tokens: Int[Tensor, "rows length"], n: int
) -> tuple[Int[Tensor, "rows grams"], Bool[Tensor, "rows grams"]]:
    """The last token of each n-gram of a row; True if it would repeat.

    That is, if the row ends with the first n - 1 tokens of that n-gram.
    """
    grams = tokens.unfold(1, n, 1)  # [rows, length - n + 1, n]
    end = tokens[:, None, tokens.size(1) - n + 1 :]
    return grams[..., -1], (grams[..., :-1] == end).all(-1)


def collect(
    beams: list[Beam],
    tokens: Int[Tensor, "batch width length"],
    live: Float[Tensor, "batch width"],
) -> list[list[float]]:
    """Move ended hypotheses into their beams; fill their places with -inf.

    Places closed earlier stay at -inf. All numbers are read at once, since
    each read waits for the GPU.
    """
    # token ids are exact in float32, like all integers below 2^24
    found = torch.cat([live[:, :, None], tokens[:, :, 1:]], dim=2).tolist()
    going = []
    for beam, rows in zip(beams, found, strict=True):
        places = []
        for log_p, *written in rows[: beam.width - len(beam.ended)]:
            ended = written[-1] == EOS or len(written) >= beam.limit
            if ended and log_p != -inf:  # or nan
                beam.end([int(token) for token in written], log_p)
            places.append(-inf if ended else log_p)
        going.append(places + [-inf] * (len(rows) - len(places)))
    return going


Step = Callable[[Tensor, Any], tuple[Tensor, Any]]
Rule = Callable[[Tensor, Tensor], Tensor]


def forbidden(
    rule: Rule,
    tokens: Int[Tensor, "batch places length"],
    scores: Float[Tensor, "batch places vocab"],
) -> Bool[Tensor, "batch places vocab"]:
    """Which continuations of the tokens a rule does not allow.

    It is given the tokens, and how probable the whole would be after every
    continuation. It returns True for those that are allowed, in the shape of
    the scores or one that is broadcast to it, such as [vocab].
    """
    allowed = rule(tokens, scores)
    kind = getattr(allowed, "dtype", type(allowed).__name__)
    if kind != torch.bool:
        raise ValueError(
            "a rule must return a tensor of True or False, one for each "
            f"continuation, and this one returned {kind}"
        )
    return ~allowed.expand_as(scores)


def beam_search(
    step: Step,
    state: Any,
    limits: Int[Tensor, "batch"],
    width: int = 4,
    alpha: float = 0.6,
    number: int = 1,
    no_repeat: int = 0,
    rule: Rule | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, found with `width` places.

    step takes a state and the last token of every row: one row per sentence
    at first, then up to `width`. It returns log-probabilities
    [rows vocab_size], which the search may overwrite, and the next state,
    whose method select(rows, sentences) repeats and reorders its rows and
    keeps only these sentences. limits are the maximum lengths of outputs in
    tokens, EOS included. With no_repeat = n > 0, no hypothesis contains the
    same n-gram twice. No continuation is taken that the rule does not allow
    (see `forbidden`; BOS is the first token). UserError if nothing is left.
    """
    if not 1 <= number <= width:
        raise ValueError(
            f"number={number}, where a search that is {width} wide finds from "
            f"1 to {width}; for more give a wider beam"
        )
    searches = [Beam(width, alpha, limit) for limit in limits.tolist()]
    beams = searches
    tokens = limits.new_full((len(beams), 1, 1), BOS)
    live = torch.zeros(len(beams), 1, device=limits.device)
    while beams:
        log_p, state = step(tokens[:, :, -1].flatten(), state)
        if 0 < no_repeat <= tokens.size(2):
            token, again = repeating(tokens.flatten(0, 1), no_repeat)
            barred = log_p.gather(1, token).masked_fill(again, -inf)
            log_p.scatter_reduce_(1, token, barred, "amin")
        if rule:
            scores = live[:, :, None] + log_p.view(*live.shape, -1)
            barred = forbidden(rule, tokens, scores).flatten(0, 1)
            log_p = log_p.masked_fill(barred, -inf)
        places = live.size(1)
        live, parent, token = best_continuations(live, log_p, width)
        order = parent[:, :, None].expand(-1, -1, tokens.size(2))
        tokens = torch.cat([tokens.gather(1, order), token[:, :, None]], 2)
        found = collect(beams, tokens, live)
        going = [
            i
            for i, beam in enumerate(beams)
            if not beam.done(max(found[i]), number)
        ]
        beams = [beams[i] for i in going]
        live = live.new_tensor([found[i] for i in going])
        keep = limits.new_tensor(going)
        rows = torch.add(parent[keep], keep[:, None], alpha=places).flatten()
        tokens = tokens[keep]
        state = state.select(rows, keep)
    if not all(beam.ended for beam in searches):
        raise UserError(
            "the search ended with nothing: every continuation is forbidden"
        )
    return [beam.best(number) for beam in searches]


def tree_map(change: Callable[[Tensor], Tensor], tree: Nested) -> Nested:
    """The tree with change(x) in place of each tensor x."""
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, tuple | list):
        return type(tree)(tree_map(change, part) for part in tree)
    return tree


@dataclass(frozen=True)
class SearchState:
    """What a model has read, per sentence, and written, per hypothesis."""

    memory: Nested
    sentences: int
    written: Nested = None  # the decoder's state

    def select(
        self, rows: Int[Tensor, "rows"], sentences: Int[Tensor, "batch"]
    ) -> "SearchState":
        """Reorder the rows; copy the memory only when a sentence leaves."""
        memory, number = self.memory, len(sentences)
        if number < self.sentences:
            memory = tree_map(lambda x: x.index_select(0, sentences), memory)
        written = tree_map(lambda x: x.index_select(0, rows), self.written)
        return SearchState(memory, number, written)


def model_step(model: EncoderDecoder) -> Step:
    """The step of a model: one more token, without gradients."""

    def step(tokens, state):
        x, written = model.decode(tokens[:, None], state.memory, state.written)
        logits = model.logits(x[:, -1]).float()
        return logits.log_softmax(-1), replace(state, written=written)

    return step


def first_state(
    model: EncoderDecoder, source: Int[Tensor, "batch source_length"]
) -> SearchState:
    """The state before the first token; contiguous, as it is read often."""
    memory = tree_map(Tensor.contiguous, model.read(source))
    return SearchState(memory, len(source))


@torch.inference_mode()
def beam_decode(
    model: EncoderDecoder,
    source: Int[Tensor, "batch source_length"],
    width: int = 4,
    alpha: float = 0.6,
    number: int = 1,
    no_repeat: int = 0,
    stretch: float = 1.0,
    rule: Rule | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch of ids; width 1 is greedy decoding (6.1)."""
    step, state = model_step(model), first_state(model, source)
    limits = length_limit(source, model.max_positions, stretch)
    return beam_search(
        step, state, limits, width, alpha, number, no_repeat, rule
    )
