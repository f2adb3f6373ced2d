"""Exercises: what is right passes, and each mistake gets its own hint."""

import itertools
import math
import re
from collections import Counter

import chapters
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

import annotated_transformer
from annotated_transformer import UserError, check
from annotated_transformer.attention import (
    causal_mask,
    padding_mask,
)
from annotated_transformer.data import make_batch, pad
from annotated_transformer.decoding import beam_search as package_search
from annotated_transformer.embedding import BOS, EOS, PAD, sinusoids
from annotated_transformer.loss import label_smoothing_loss
from annotated_transformer.model import PRESETS, parameter_count
from annotated_transformer.modern import rotate
from annotated_transformer.optimizer import inverse_sqrt_rate
from annotated_transformer.parsing import delinearise
from annotated_transformer.risk import risk
from annotated_transformer.teaching.exercises import exercises
from annotated_transformer.teaching.exercises.judge import hint

EXERCISES = exercises()
inf = math.inf


# ---- what readers write: first what is right ----


def masked(query, key, value, mask):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    scores = scores.masked_fill(mask.logical_not(), -inf)
    return torch.softmax(scores, dim=-1) @ value


def nearest_position(d_model, length):
    table = sinusoids(length, d_model).double()
    return (table[1:] - table[0]).norm(dim=1).argmin().item() + 1


def sharp_risk(log_p, errors, power):
    beliefs = torch.tensor(log_p, dtype=torch.double).mul(power).softmax(0)
    return (beliefs @ torch.tensor(errors, dtype=torch.double)).item()


def risk_gradient(log_p, errors):
    log_p = torch.tensor(log_p, dtype=torch.double, requires_grad=True)
    risk(log_p, torch.tensor(errors, dtype=torch.double)).backward()
    return log_p.grad.tolist()


def around(log_p, errors, middle):
    beliefs = np.exp(log_p) / np.exp(log_p).sum()
    return list(beliefs * (np.array(errors) - middle))


def layer_norm(x, gain, shift, eps):
    mean = x.sum(-1, keepdim=True) / x.size(-1)
    variance = ((x - mean) ** 2).sum(-1, keepdim=True) / x.size(-1)
    return (x - mean) / torch.sqrt(variance + eps) * gain + shift


def row_b(d_k):
    base = PRESETS["base"]
    narrow = annotated_transformer.ModelConfig(d_k=d_k, d_v=64)
    return parameter_count(base) - parameter_count(narrow)


def three_masks(source, target):
    (batch, s), t = source.shape, target.size(1)
    seen = padding_mask(source)
    return (
        seen.expand(batch, 1, s, s),
        padding_mask(target) & causal_mask(t),
        seen.expand(batch, 1, t, s),
    )


def scan(x, U):
    power, m, n = U, 1, x.size(1)
    while m < n:
        x = x + F.pad(x, (0, 0, m, 0))[:, :n] @ power.T
        power, m = power @ power, 2 * m
    return x


def shifted(targets):
    batch = make_batch([([EOS], [*target, EOS]) for target in targets])
    return batch.inputs, batch.labels


def smoothed_loss(logits, labels, smoothing):
    where = labels != PAD
    return label_smoothing_loss(logits[where], labels[where], smoothing)


class Table:
    """A language in which the next token depends on the last: no state."""

    def select(self, rows, sentences):
        return self


def search(log_p, width, alpha, limit):
    def step(tokens, state):
        return log_p[tokens], state

    limits = torch.tensor([limit])
    return package_search(step, Table(), limits, width, alpha)[0][0].tokens


def resampled(first, second, paired=True, replace=True):
    draw, n = np.random.default_rng(0), len(first)
    ours, theirs = np.array(first), np.array(second)
    wins = []
    for _ in range(2000):
        places = draw.choice(n, n, replace)
        others = places if paired else draw.choice(n, n, replace)
        wins.append(theirs[others].mean() > ours[places].mean() + 1e-9)
    return float(np.mean(wins))


def no_projections(x, heads):
    slices = x.unflatten(-1, (heads, -1)).transpose(1, 2)
    answers = F.scaled_dot_product_attention(slices, slices, slices)
    return answers.transpose(1, 2).flatten(2)


def by_word(weights, queries, keys):
    Q, K = F.one_hot(queries).float(), F.one_hot(keys).float()
    return (Q / Q.sum(0)).T @ weights @ K


def what_keys_receive(weights, real):
    return torch.einsum("bhqk,bq->bk", weights, real.float()) / 3


RIGHT = {
    "causal-mask": causal_mask,
    "scaled-attention": masked,
    "split-heads": lambda x, h: x.unflatten(-1, (h, -1)).transpose(1, 2),
    "sum-of-heads": lambda x, w: sum(
        head @ w[i * x.size(2) : (i + 1) * x.size(2)]
        for i, head in enumerate(x)
    ),
    "positions": sinusoids,
    "nearest-position": nearest_position,
    "layer-size": lambda d: 12 * d**2 + 13 * d,
    "cached-mask": lambda cached, new: causal_mask(cached + new)[cached:],
    "layer-norm": layer_norm,
    "row-b": row_b,
    "three-masks": three_masks,
    "linear-scan": scan,
    "separable-cost": lambda k, n, d: 2 * n * d * (k + d),
    "per-character": lambda p, t, c: p ** (t / c),
    "shifted-targets": shifted,
    "label-smoothing": smoothed_loss,
    "undo-smoothing": lambda q, e: (q - e / q.size(-1)) / (1 - e),
    "peak-warmup": lambda peak, d: 1 / (d * peak**2),
    "schedule": lambda done, d, w: inverse_sqrt_rate(done + 1, d, w),
    "joint-loss": lambda n, m: (
        sum(a * b for a, b in zip(n, m, strict=True)) / sum(n)
    ),
    "when-to-step": lambda n, a: sorted({*range(a, n + 1, a), n}),
    "cache-size": lambda n, m, k, d: 2 * d * (n * k + m),
    "beam-search": search,
    "brevity-penalty": lambda c, r: min(1, math.exp(1 - r / c)),
    "paired-resampling": resampled,
    "enough-seeds": lambda d, s: math.ceil(2 * (3 * s / d) ** 2),
    "no-projections": no_projections,
    "risk-gradient": risk_gradient,
    "sharp-risk": sharp_risk,
    "by-word": by_word,
    "what-keys-receive": what_keys_receive,
    "additive-weights": lambda q, k, v, mask: additive()(q, k, v, mask),
    "gated-linear-unit": F.glu,
    "well-formed": lambda texts, n: trees_over(texts, n),
    "bracket-f1": lambda found, gold: f1(found, gold),
    "rotary-positions": rotate,
    "join-answers": lambda a1, L1, a2, L2: torch.lerp(
        a2, a1, (L1 - L2).sigmoid()[..., None]
    ),
}


# ---- then what is wrong, with the beginning of the hint it deserves ----


def attention(scale=lambda d: d**-0.5, over=-1, hide=None, after=None):
    """Attention with one part replaced."""

    def attend(query, key, value, mask):
        scores = query @ key.transpose(-2, -1) * scale(query.size(-1))
        scores = (hide or (lambda s, m: s.masked_fill(~m, -inf)))(scores, mask)
        weights = scores.softmax(over)
        return (after or (lambda w, m, v: w @ v))(weights, mask, value)

    return attend


def additive(
    scores=lambda q, k, v: (q[:, :, None] + k[:, None]).tanh() @ v,
    seen=lambda mask: mask,
    over=-1,
):
    """The weights of additive attention, with one part replaced."""

    def weigh(query, key, v, mask):
        found = scores(query, key, v).masked_fill(~seen(mask), -1e9)
        return found.softmax(over) if over else found

    return weigh


def sliced(x, heads, width=None, order="moved"):
    """Attention without projections, of another scale or other slices."""
    b, n, d = x.shape
    if order == "interleaved":
        slices = x.view(b, n, d // heads, heads).permute(0, 3, 1, 2)
    elif order == "not moved":
        slices = x.reshape(b, heads, n, d // heads)
    else:
        slices = x.view(b, n, heads, d // heads).transpose(1, 2)
    scores = slices @ slices.mT / (width or d // heads) ** 0.5
    answers = scores.softmax(-1) @ slices
    if order == "interleaved":
        return answers.permute(0, 2, 3, 1).reshape(b, n, d)
    if order in ("not moved", "not moved back"):
        return answers.reshape(b, n, d)
    return answers.transpose(1, 2).reshape(b, n, d)


def received(rows=None, heads="mean", of="sum", axis=2):
    """What keys receive, put together in another way."""

    def receive(weights, real):
        kept = weights * real[:, None, :, None] if rows else weights
        found = getattr(kept, of)(axis)
        return getattr(found, heads)(1) if heads else found

    return receive


def turning(angle, pairs=lambda n, i: (2 * i, 2 * i + 1)):
    """Vectors turned by angle(m, i, d_k), pair by pair, by matrices."""

    def turn(x):
        (length, d_k), found = x.shape, x.clone()
        for m, i in itertools.product(range(length), range(d_k // 2)):
            a = angle(m, i, d_k)
            by = [[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]]
            pair = list(pairs(d_k // 2, i))
            found[m, pair] = torch.tensor(by) @ x[m, pair]
        return found

    return turn


def speed(m, i, d_k):
    return m / 10_000 ** (2 * i / d_k)


def clock(angle, order="interleaved"):
    """A table of sines and cosines, from angle(pos, pair, d_model)."""

    def table(length, d_model):
        rows = []
        for pos in range(length):
            turns = [angle(pos, i, d_model) for i in range(d_model // 2)]
            sines, cosines = map(math.sin, turns), map(math.cos, turns)
            if order == "halves":
                rows.append([*sines, *cosines])
            else:
                both = (cosines, sines) if order == "swapped" else None
                both = both or (sines, cosines)
                rows.append([*itertools.chain(*zip(*both, strict=True))])
        return torch.tensor(rows)

    return table


def by_column(length, d_model):
    table = torch.empty(length, d_model)
    for column in range(d_model):
        wave = torch.cos if column % 2 else torch.sin
        speed = 10_000 ** (-column / d_model)
        table[:, column] = wave(torch.arange(length) * speed)
    return table


def normalised(std=None, mean=None, affine=True):
    """Layer norm with another mean or standard deviation."""

    def norm(x, gain, shift, eps):
        centre = (mean or (lambda x: x.mean(-1, keepdim=True)))(x)
        y = (x - centre) / std(x, eps)
        return y * gain + shift if affine else y

    return norm


def moments(over):
    return normalised(
        lambda x, e: (x.var(over, correction=0, keepdim=True) + e).sqrt(),
        lambda x: x.mean(over, keepdim=True),
    )


def std(x, unbiased=False):
    return x.std(-1, unbiased=unbiased, keepdim=True)


def masks(encoder=None, decoder=None, cross=None):
    """The three masks of a model, some of them replaced."""

    def build(source, target):
        built = list(three_masks(source, target))
        for place, other in enumerate((encoder, decoder, cross)):
            if other is not None:
                built[place] = other(source, target)
        return built

    return build


def wide(tokens, queries):
    """A padding mask with a row for each query."""
    return padding_mask(tokens).expand(-1, 1, queries, -1)


def tall(queries, keys):
    """Padding hidden in the wrong axis."""
    hidden = (queries != 0)[:, None, :, None]
    return hidden.expand(-1, 1, -1, keys)


def doubling(next_power, until=lambda m, n: m < n):
    def scanned(x, U):
        power, m, n = U, 1, x.size(1)
        while until(m, n):
            x = x + F.pad(x, (0, 0, m, 0))[:, :n] @ power.T
            power, m = next_power(power, U), 2 * m
        return x

    return scanned


def step_by_step(x, U, change=lambda state: state):
    states = [x[:, 0] if change is None else change(x[:, 0])]
    for t in range(1, x.size(1)):
        states.append(change(x[:, t] + states[-1] @ U.T))
    return torch.stack(states, 1)


def rows(before=(BOS,), after=(EOS,), swap=False):
    def shift(targets):
        inputs = pad([*before, *target] for target in targets)
        labels = pad([*target, *after] for target in targets)
        return (labels, inputs) if swap else (inputs, labels)

    return shift


def left(targets):
    return tuple(part.flip(1) for part in shifted([t[::-1] for t in targets]))


def left_padded(targets):
    longest = max(map(len, targets))
    fill = [[PAD] * (longest - len(target)) for target in targets]
    return tuple(
        torch.tensor([[*f, *row] for f, row in zip(fill, part, strict=True)])
        for part in (
            [[BOS, *target] for target in targets],
            [[*target, EOS] for target in targets],
        )
    )


def cut_after_padding(targets):
    whole = pad([BOS, *target, EOS] for target in targets)
    return whole[:, :-1], whole[:, 1:]


def loss(target, log_p=torch.log_softmax, entropy=False):
    """The smoothed loss, label by label, against target(V, label, eps)."""

    def summed(logits, labels, smoothing):
        total = torch.tensor(0.0)
        for row, label in zip(logits, labels, strict=True):
            if label == PAD:
                continue
            q = target(len(row), label, smoothing)
            total -= (q * log_p(row, -1)).sum()
            if entropy:
                total += torch.special.xlogy(q, q).sum()
        return total

    return summed


def smooth(V, label, eps):
    q = torch.full((V,), eps / V)
    q[label] += 1 - eps
    return q


def overwritten(V, label, eps, others=0):
    q = torch.full((V,), eps / (V - others))
    q[label] = 1 - eps
    return q


def without_padding(V, label, eps):
    q = overwritten(V, label, eps, 2)
    q[PAD] = 0
    return q


def exchanged(V, label, eps):
    q = torch.full((V,), (1 - eps) / V)
    q[label] += eps
    return q


def scaled_loss(factor):
    return lambda z, y, e: smoothed_loss(z, y, e) * factor(y)


def searching(
    score=lambda total, n, ended, alpha: total / ((5 + n) / 6) ** alpha,
    first=False,
    unfinished=True,
    place=True,
    last=False,
    strip=True,
):
    """Beam search on tensors, with a mistake."""

    def run(log_p, width, alpha, limit):
        beam, done = {(BOS,): 0.0}, {}
        for _ in range(limit):
            grown = {
                (*tokens, new): (0 if last else total) + step
                for tokens, total in beam.items()
                for new, step in enumerate(log_p[tokens[-1]].tolist())
            }
            ranked = sorted(grown, key=grown.get, reverse=True)
            ranked = ranked[: width - len(done) * place]
            done |= {t: grown[t] for t in ranked if t[-1] == EOS}
            beam = {t: grown[t] for t in ranked if t[-1] != EOS}
            if not beam or (first and done):
                break
        done |= beam if unfinished else {}
        if not done:
            return []
        best = max(
            done,
            key=lambda t: score(done[t], len(t) - 1, t[-1] == EOS, alpha),
        )
        return [t for t in best[1:] if t != EOS] if strip else list(best)

    return run


def never_ending(log_p, width, alpha, limit):
    tokens = [BOS]
    while len(tokens) <= limit:
        tokens.append(int(log_p[tokens[-1]].argmax()))
    return tokens[1:]


def greedy(log_p, width, alpha, limit):
    tokens = never_ending(log_p, width, alpha, limit)
    return tokens[: tokens.index(EOS)] if EOS in tokens else tokens


def rate(minimum=min, late=0, width=-0.5, fall=-0.5, rise=-1.5):
    return lambda done, d, w: (
        d**width
        * minimum((done + 1 + late) ** fall, (done + 1 + late) * w**rise)
    )


def tri(change):
    return lambda length: change(torch.ones(length, length))


def only_masked(n):
    return (
        torch.ones(n, n)
        .triu(1)
        .masked_fill(torch.ones(n, n).triu(1) > 0, -1e9)
    )


def strongest(weights, words):
    """The largest weight of each word's pieces, along the last axis."""
    groups = [weights[..., words == word] for word in range(max(words) + 1)]
    return torch.stack([group.max(-1).values for group in groups], -1)


def glu(of):
    """Something else done with the two halves."""
    return lambda x: of(*x.chunk(2, -1))


def trees_over(texts, n=None, change=str):
    """Which strings are trees, after a change, over n or any words."""
    found = []
    for text in map(change, texts):
        words = ["w"] * (text.split().count("XX") if n is None else n)
        found.append(delinearise(text, words) is not None)
    return found


def f1(found, gold, a=None, b=None):
    """F1 by counters, with other sizes of the two lists if given."""
    right = (Counter(found) & Counter(gold)).total()
    return 2 * right / ((a or len(found)) + (b or len(gold)))


def opening(texts, n, sign):
    """Whether the signs of what opens and what closes are the same."""
    found = []
    for text in texts:
        tokens = text.split()
        ends = [
            Counter(sign(t[1:]) for t in tokens if t[0] == end) for end in "()"
        ]
        found.append(ends[0] == ends[1] and tokens.count("XX") == n)
    return found


WRONG = {
    "causal-mask": [
        ("The polarity", tri(lambda x: x.triu(1) > 0)),
        ("No query sees itself", tri(lambda x: x.tril(-1).bool())),
        ("Queries and keys are", tri(lambda x: x.triu().bool())),
        ("Every query sees one", tri(lambda x: x.tril(1).bool())),
        ("Nothing", tri(lambda x: x.bool())),
        ("This mask is made", only_masked),
        (
            "This mask is made",
            lambda n: nn.Transformer.generate_square_subsequent_mask(n),
        ),
        ("The mask holds numbers", tri(lambda x: x.tril())),
        ("The mask holds numbers", tri(lambda x: x.tril().int())),
        ("The mask has two axes", lambda n: causal_mask(n)[None]),
    ],
    "scaled-attention": [
        ("The scores are not", attention(lambda d: 1.0)),
        ("The scores are divided by the", attention(lambda d: 1 / d)),
        ("The scores are multiplied", attention(math.sqrt)),
        (
            "The softmax runs",
            attention(over=-2, hide=lambda s, m: s.masked_fill(~m, -1e9)),
        ),
        (
            "The mask comes after",
            attention(hide=lambda s, m: s, after=lambda w, m, v: (w * m) @ v),
        ),
        ("The polarity", attention(hide=lambda s, m: s.masked_fill(m, -1e9))),
        ("The mask has no", attention(hide=lambda s, m: s)),
        ("These are the weights", attention(after=lambda w, m, v: w)),
        ("Hidden scores become 0", attention(hide=lambda s, m: s * m)),
        (
            "Scores are multiplied",
            attention(lambda d: 1.0, hide=lambda s, m: s * m),
        ),
    ],
    "split-heads": [
        (
            "The axis of the length",
            lambda x, h: x.view(len(x), h, -1, x.size(2) // h),
        ),
        ("The heads stand behind", lambda x, h: torch.stack(x.chunk(h, 2), 2)),
        (
            "Heads take every",
            lambda x, h: torch.stack([x[..., i::h] for i in range(h)], 1),
        ),
    ],
    "sum-of-heads": [
        (
            "This is the mean",
            lambda x, w: torch.cat([*x], -1) @ w / len(x),
        ),
        (
            "The blocks are",
            lambda x, w: sum(
                head @ w[i :: len(x)] for i, head in enumerate(x)
            ),
        ),
        (
            "Every head is",
            lambda x, w: sum(head @ w[: x.size(2)] for head in x),
        ),
    ],
    "positions": [
        (
            "Sines and cosines",
            clock(lambda p, i, d: p / 10_000 ** (2 * i / d), "swapped"),
        ),
        (
            "All sines come",
            clock(lambda p, i, d: p / 10_000 ** (2 * i / d), "halves"),
        ),
        ("Every column", by_column),
        (
            "The speeds fall too fast",
            clock(lambda p, i, d: p / 10_000 ** (4 * i / d)),
        ),
        (
            "The speeds fall too slowly",
            clock(lambda p, i, d: p / 10_000 ** (i / d)),
        ),
        (
            "The wavelengths",
            clock(lambda p, i, d: p / 10_000 ** (i / max(1, d // 2 - 1))),
        ),
        (
            "The positions begin",
            clock(lambda p, i, d: (p + 1) / 10_000 ** (2 * i / d)),
        ),
        (
            "The later columns",
            clock(lambda p, i, d: p * 10_000 ** (2 * i / d)),
        ),
    ],
    "nearest-position": [
        (
            "Every position",
            lambda d, n: (
                (sinusoids(n, d) - sinusoids(1, d)).norm(dim=1).argmin()
            ),
        ),
        (
            "Off by one",
            lambda d, n: (
                (sinusoids(n, d)[1:] - sinusoids(1, d)).norm(dim=1).argmin()
            ),
        ),
        (
            "This is the position",
            lambda d, n: (
                (sinusoids(n, d) - sinusoids(1, d)).norm(dim=1).argmax()
            ),
        ),
        ("The neighbour", lambda d, n: 1),
    ],
    "layer-size": [
        ("Biases and norms", lambda d: 4 * d * d + 2 * d * 4 * d),
        ("The biases", lambda d: 12 * d * d + 2 * 2 * d),
        ("The norms", lambda d: 4 * (d * d + d) + 8 * d * d + 5 * d),
        ("There are two norms", lambda d: 12 * d * d + 9 * d + 2 * d),
        ("Attention has", lambda d: 3 * (d * d + d) + 8 * d * d + 9 * d),
        ("Only attention", lambda d: 4 * d * (d + 1)),
        (
            "This is a decoder",
            lambda d: sum(
                p.numel()
                for p in nn.TransformerDecoderLayer(d, 1, 4 * d).parameters()
            ),
        ),
    ],
    "cached-mask": [
        ("The new positions see", lambda c, n: causal_mask(n)),
        ("Nothing", lambda c, n: torch.ones(n, c + n, dtype=torch.bool)),
        ("These are the rows", lambda c, n: causal_mask(c + n)[:n]),
        ("The polarity", lambda c, n: torch.ones(n, c + n).triu(c + 1) > 0),
        ("Queries and keys", lambda c, n: causal_mask(c + n)[c:].mT),
        ("The cached keys", lambda c, n: F.pad(causal_mask(n), (c, 0))),
        ("A new position", lambda c, n: torch.ones(n, c + n).tril(c - 1) > 0),
        ("The queries are", lambda c, n: causal_mask(c + n)),
        ("The mask holds", lambda c, n: torch.ones(n, c + n).tril(c)),
    ],
    "layer-norm": [
        (
            "The variance",
            normalised(lambda x, e: (std(x, True) ** 2 + e).sqrt()),
        ),
        ("eps is added", normalised(lambda x, e: std(x) + e)),
        ("eps is left", normalised(lambda x, e: std(x))),
        ("Both at once", normalised(lambda x, e: std(x, True) + e)),
        ("Mean and variance run over the pos", moments(1)),
        ("Mean and variance run over all", moments((1, 2))),
        ("Mean and variance run over the whole", moments((0, 1, 2))),
        ("The mean is", lambda x, g, b, e: F.rms_norm(x, g.shape, g, e) + b),
        ("Divided by", normalised(lambda x, e: std(x) ** 2 + e)),
        (
            "Gain and shift",
            normalised(lambda x, e: (std(x) ** 2 + e).sqrt(), affine=False),
        ),
    ],
    "row-b": [
        ("The biases", lambda k: 36 * (512 * 512 - 512 * 8 * k)),
        ("The decoder's layers", lambda k: row_b(k) * 2 // 3),
        ("Only the encoder", lambda k: row_b(k) // 3),
        ("Only one of", lambda k: row_b(k) // 2),
        ("The values", lambda k: row_b(k) * 3 // 2),
        ("All four", lambda k: 18 * (4 * 512 + 3) * (512 - 8 * k)),
        ("There are eight", lambda k: row_b(k) // 8),
        ("This is what remains", lambda k: 36 * (512 * 8 * k + 8 * k)),
        (
            "The sign",
            lambda k: (
                parameter_count(
                    annotated_transformer.ModelConfig(d_k=k, d_v=64)
                )
                - 63_082_496
            ),
        ),
    ],
    "three-masks": [
        (
            "Cross-attention has the target",
            masks(cross=lambda s, t: wide(t, t.size(1))),
        ),
        (
            "Cross-attention has the causal",
            masks(cross=lambda s, t: padding_mask(t) & causal_mask(t.size(1))),
        ),
        (
            "Cross-attention has the encoder",
            masks(cross=lambda s, t: wide(s, s.size(1))),
        ),
        (
            "Cross-attention has causal",
            masks(
                cross=lambda s, t: (
                    wide(s, t.size(1))
                    & torch.ones(t.size(1), s.size(1)).tril().bool()
                )
            ),
        ),
        (
            "The decoder's self-attention sees the f",
            masks(decoder=lambda s, t: wide(t, t.size(1))),
        ),
        (
            "The decoder's self-attention sees p",
            masks(
                decoder=lambda s, t: causal_mask(t.size(1)).expand(
                    len(t), 1, -1, -1
                )
            ),
        ),
        (
            "The encoder",
            masks(
                encoder=lambda s, t: padding_mask(s) & causal_mask(s.size(1))
            ),
        ),
        ("The polarity", lambda s, t: [~m for m in three_masks(s, t)]),
        (
            "Padding is hidden as a query as",
            masks(
                lambda s, t: wide(s, s.size(1)) & tall(s, s.size(1)),
                lambda s, t: three_masks(s, t)[1] & tall(t, t.size(1)),
                lambda s, t: wide(s, t.size(1)) & tall(t, s.size(1)),
            ),
        ),
        (
            "Padding is hidden as a query, where",
            masks(
                lambda s, t: tall(s, s.size(1)),
                lambda s, t: causal_mask(t.size(1)) & tall(t, t.size(1)),
                lambda s, t: tall(t, s.size(1)),
            ),
        ),
    ],
    "linear-scan": [
        ("Here the tanh", lambda x, U: step_by_step(x, U, torch.tanh)),
        ("The states are", lambda x, U: step_by_step(x, U.T)),
        ("Each doubling", doubling(lambda power, U: U)),
        ("The power grows", doubling(lambda power, U: power @ U)),
        (
            "The doubling stops",
            doubling(lambda power, U: power @ power, lambda m, n: 2 * m < n),
        ),
        (
            "The words are",
            lambda x, U: torch.stack(
                [
                    sum(
                        x[:, j] @ torch.linalg.matrix_power(U.T, j - i)
                        for j in range(i, x.size(1))
                    )
                    for i in range(x.size(1))
                ],
                1,
            ),
        ),
        ("This is the last", lambda x, U: scan(x, U)[:, -1]),
        ("The words do not", lambda x, U: x),
    ],
    "separable-cost": [
        ("A multiplication", lambda k, n, d: n * d * (k + d)),
        ("This is a full", lambda k, n, d: 2 * n * k * d * d),
        ("The matrix that", lambda k, n, d: 2 * n * d * k),
        ("The sums along", lambda k, n, d: 2 * n * d * d),
        ("The part along", lambda k, n, d: 2 * n * (k + d * d)),
    ],
    "per-character": [
        ("This is the perplexity per token", lambda p, t, c: p),
        ("A perplexity is not", lambda p, t, c: p / (c / t)),
        ("The exponent", lambda p, t, c: p ** (c / t)),
        ("These are nats", lambda p, t, c: math.log(p) / (c / t)),
        ("These are bits", lambda p, t, c: math.log(p, 2) / (c / t)),
        ("Two bases", lambda p, t, c: math.e ** (math.log2(p) * t / c)),
        ("This is the perplexity of", lambda p, t, c: math.prod([p] * t)),
    ],
    "shifted-targets": [
        ("The inputs are the labels:", rows((), ())),
        ("The inputs are the labels, end", lambda t: (shifted(t)[1],) * 2),
        (
            "Both begin with",
            lambda t: (pad([BOS, *row, EOS] for row in t),) * 2,
        ),
        ("The decoder starts from padding", rows((PAD,))),
        ("The decoder starts from EOS", rows((EOS,))),
        (
            "The labels do not",
            lambda t: (shifted(t)[0], F.pad(pad(t), (0, 1))),
        ),
        ("Inputs and labels", rows(swap=True)),
        ("The padding stands", left_padded),
        (
            "The labels contain",
            lambda t: (shifted(t)[0], pad([BOS, *row] for row in t)),
        ),
        ("EOS is among", cut_after_padding),
    ],
    "label-smoothing": [
        ("Padding is counted", label_smoothing_loss),
        ("This is the mean. ", scaled_loss(lambda y: 1 / (y != PAD).sum())),
        ("This is the mean over", scaled_loss(lambda y: 1 / len(y))),
        (
            "The labels are not",
            lambda z, y, e: F.nll_loss(
                z.log_softmax(-1), y, ignore_index=PAD, reduction="sum"
            ),
        ),
        ("The label does not", loss(overwritten)),
        (
            "The smoothing is",
            loss(lambda V, label, e: overwritten(V, label, e, 1)),
        ),
        ("Padding gets no", loss(without_padding)),
        ("Label and rest", loss(exchanged)),
        ("A logarithm", loss(smooth, torch.softmax)),
        ("The sign", scaled_loss(lambda y: -1)),
        ("The logits must", loss(smooth, lambda z, _: z)),
        ("This is the divergence", loss(smooth, entropy=True)),
        ("The unit", scaled_loss(lambda y: math.log2(math.e))),
    ],
    "undo-smoothing": [
        ("What was spread", lambda q, e: q / (1 - e)),
        ("After subtracting", lambda q, e: q - e / q.size(-1)),
        ("Each token got", lambda q, e: (q - e) / (1 - e)),
        (
            "The smoothing was",
            lambda q, e: (q - e / (q.size(-1) - 1)) / (1 - e),
        ),
        ("The order", lambda q, e: q / (1 - e) - e / q.size(-1)),
        ("This smooths", lambda q, e: (1 - e) * q + e / q.size(-1)),
    ],
    "peak-warmup": [
        ("The peak must", lambda peak, d: 1 / d / peak),
        ("The width is missing", lambda peak, d: 1 / peak**2),
        ("The fraction", lambda peak, d: d * peak * peak),
        ("One root", lambda peak, d: 1 / math.sqrt(d) / peak),
        ("The width is squared", lambda peak, d: 1 / (d * peak) ** 2),
    ],
    "schedule": [
        (
            "One update late: after",
            lambda s, d, w: inverse_sqrt_rate(max(s, 1), d, w),
        ),
        (
            "One update late, and",
            lambda s, d, w: inverse_sqrt_rate(s, d, w) if s else 0.0,
        ),
        ("One update early", rate(late=1)),
        ("The larger", rate(max)),
        ("There is no", rate(lambda fall, rise: fall)),
        ("The rate rises", rate(lambda fall, rise: rise)),
        ("The width is missing", rate(width=0)),
        ("The width is in", rate(width=0.5)),
        ("Line and curve", rate(rise=-0.5)),
        (
            "The rate falls",
            lambda s, d, w: (
                inverse_sqrt_rate(w, d, w)
                * ((s + 1) / w if s < w else w / (s + 1))
            ),
        ),
    ],
    "joint-loss": [
        ("This is the mean of", lambda n, m: float(np.mean(m))),
        ("This is the sum over", lambda n, m: float(np.dot(n, m))),
        ("The sum over all", lambda n, m: float(np.dot(n, m)) / len(m)),
        ("This is the sum of", lambda n, m: float(np.sum(m))),
        (
            "The weights",
            lambda n, m: float(np.average(m, weights=1 / np.array(n))),
        ),
        ("Means are", lambda n, m: sum(m) / sum(n)),
    ],
    "when-to-step": [
        (
            "The first step",
            lambda n, a: [i + 1 for i in range(n) if i % a == 0],
        ),
        (
            "The batches are counted from 0.",
            lambda n, a: [
                i for i in range(n) if (i + 1) % a == 0 or i + 1 == n
            ],
        ),
        (
            "The last, smaller",
            lambda n, a: [i for i in range(1, n + 1) if i % a == 0],
        ),
        ("Nothing", lambda n, a: [*range(1, n + 1)]),
        (
            "After the last",
            lambda n, a: [i for i in range(1, n + 1) if i % a == 0] + [n],
        ),
        (
            "The batches are counted from 0, and",
            lambda n, a: [i for i in range(n) if i % a == 0],
        ),
    ],
    "cache-size": [
        ("Keys and values", lambda n, m, k, d: d * (n * k + m)),
        ("Each hypothesis", lambda n, m, k, d: 2 * d * k * (n + m)),
        ("Every hypothesis", lambda n, m, k, d: 2 * d * (n + m)),
        ("The source's", lambda n, m, k, d: 2 * d * n * k),
        ("The outputs'", lambda n, m, k, d: 2 * d * m),
        ("The beam", lambda n, m, k, d: 2 * d * (n + m * k)),
    ],
    "beam-search": [
        (
            "The log-probability is m",
            searching(lambda total, n, ended, a: total * ((5 + n) / 6) ** a),
        ),
        ("The outputs are", searching(lambda total, n, ended, a: total)),
        (
            "The log-probability is d",
            searching(lambda total, n, ended, a: total / n),
        ),
        (
            "EOS is not counted",
            searching(
                lambda total, n, ended, a: total / ((5 + n - ended) / 6) ** a
            ),
        ),
        ("The search stops", searching(first=True)),
        ("Outputs that", searching(unfinished=False)),
        ("What has ended", searching(place=False)),
        ("Only the last", searching(last=True)),
        ("This is greedy", greedy),
        ("The output contains", never_ending),
        ("The output begins", lambda *inputs: [BOS, *search(*inputs)]),
    ],
    "brevity-penalty": [
        ("The fraction", lambda c, r: min(1, math.exp(1 - c / r))),
        ("Long outputs", lambda c, r: math.exp(1 - r / c)),
        (
            "This is the ratio of the lengths, without",
            lambda c, r: min(1, c / r),
        ),
        ("This is the ratio of the lengths, which", lambda c, r: c / r),
        ("The larger", lambda c, r: max(1, math.exp(1 - r / c))),
        ("The exponent", lambda c, r: math.exp(-r / c)),
    ],
    "paired-resampling": [
        ("The systems", lambda *scores: resampled(*scores, paired=False)),
        ("This is the share of the f", lambda *s: resampled(*s[::-1])),
        ("A resample", lambda *scores: resampled(*scores, replace=False)),
        (
            "This is the share of sent",
            lambda first, second: (
                sum(b > a for a, b in zip(first, second, strict=True)) / 60
            ),
        ),
    ],
    "enough-seeds": [
        ("A number of seeds", lambda d, s: 18 * (s / d) ** 2),
        ("This rounds down", lambda d, s: math.floor(18 * (s / d) ** 2)),
        ("A difference of two", lambda d, s: math.ceil(9 * (s / d) ** 2)),
        ("The deviation", lambda d, s: math.ceil(18**0.5 * s / d)),
        ("Three times", lambda d, s: math.ceil(2 * (s / d) ** 2)),
        ("These are the", lambda d, s: 2 * math.ceil(18 * (s / d) ** 2)),
    ],
    "no-projections": [
        ("The scale is", lambda x, h: sliced(x, h, x.size(-1))),
        ("The scores are not", lambda x, h: sliced(x, h, 1)),
        ("There is one head", lambda x, h: sliced(x, 1)),
        ("The components", lambda x, h: sliced(x, h, order="interleaved")),
        ("A head got", lambda x, h: sliced(x, h, order="not moved")),
        ("The heads' ans", lambda x, h: sliced(x, h, order="not moved back")),
    ],
    "risk-gradient": [
        ("The signs", lambda p, e: [-g for g in risk_gradient(p, e)]),
        ("Errors are compared", lambda p, e: around(p, e, np.mean(e))),
        ("Nothing is", lambda p, e: around(p, e, 0)),
        (
            "The probability of the candidate",
            lambda p, e: [x - sharp_risk(p, e, 1) for x in e],
        ),
        (
            "The probabilities are those",
            lambda p, e: list(np.exp(p) * (np.array(e) - np.exp(p) @ e)),
        ),
    ],
    "sharp-risk": [
        ("The power is left", lambda p, e, a: sharp_risk(p, e, 1)),
        ("A power of p", lambda p, e, a: sharp_risk(p, e, 1 / a)),
        (
            "After the power",
            lambda p, e, a: float((np.exp(p) / np.exp(p).sum()) ** a @ e),
        ),
        (
            "The errors are raised",
            lambda p, e, a: sharp_risk(p, np.array(e) ** a, 1),
        ),
        ("This is a multiple", lambda p, e, a: a * sharp_risk(p, e, 1)),
    ],
    "by-word": [
        (
            "The weights on the",
            lambda w, q, k: by_word(w, q, k) / torch.bincount(k),
        ),
        (
            "The rows of",
            lambda w, q, k: by_word(w, q, k) * torch.bincount(q)[:, None],
        ),
        (
            "Queries and keys",
            lambda w, q, k: by_word(w.mT, k, q).mT,
        ),
        (
            "Only the strongest piece",
            lambda w, q, k: by_word(
                strongest(w, k), q, torch.arange(max(k) + 1)
            ),
        ),
        (
            "Only the strongest row",
            lambda w, q, k: (
                strongest(by_word(w, torch.arange(len(q)), k).mT, q).mT
            ),
        ),
        ("The heads are", lambda w, q, k: by_word(w.mean(0), q, k)),
    ],
    "what-keys-receive": [
        ("Queries that are", received()),
        (
            "This is the mean over the q",
            lambda w, real: what_keys_receive(w, real) / real.sum(1)[:, None],
        ),
        ("This is the mean over all", received(of="mean")),
        ("The rows of padding", received(rows=True, of="mean")),
        ("The heads are added", received(rows=True, heads="sum")),
        ("The heads are kept", received(rows=True, heads=None)),
        ("The sum runs", received(axis=3)),
    ],
    "additive-weights": [
        (
            "Without the tanh",
            additive(lambda q, k, v: (q[:, :, None] + k[:, None]) @ v),
        ),
        (
            "The tanh comes",
            additive(
                lambda q, k, v: ((q @ v)[:, :, None] + (k @ v)[:, None]).tanh()
            ),
        ),
        (
            "These are dot",
            additive(lambda q, k, v: torch.einsum("bqd,bkd,d->bqk", q, k, v)),
        ),
        (
            "Each of the two",
            additive(
                lambda q, k, v: (q.tanh()[:, :, None] + k.tanh()[:, None]) @ v
            ),
        ),
        (
            "The scores are scaled",
            additive(
                lambda q, k, v: (
                    ((q[:, :, None] + k[:, None]).tanh() * v).sum(-1)
                    / math.sqrt(len(v))
                )
            ),
        ),
        ("The mask has", additive(seen=lambda mask: mask | True)),
        ("The polarity", additive(seen=lambda mask: ~mask)),
        ("The softmax", additive(over=1)),
        ("These are the scores", additive(over=None)),
    ],
    "gated-linear-unit": [
        ("The halves are exch", lambda x: F.glu(x.roll(x.size(-1) // 2, -1))),
        ("The gate is a tanh", glu(lambda a, b: a * torch.tanh(b))),
        ("The gate is not", glu(lambda a, b: a * b)),
        ("This is the gate", glu(lambda a, b: 1 / (1 + (-b).exp()))),
        ("What passes", glu(lambda a, b: a.tanh() * b.sigmoid())),
        (
            "The halves are every",
            lambda x: F.glu(torch.cat([x[..., ::2], x[..., 1::2]], -1)),
        ),
        ("The gate is neg", glu(lambda a, b: a * (1 - b.sigmoid()))),
    ],
    "well-formed": [
        ("The number of words", lambda texts, n: trees_over(texts)),
        ("Brackets are counted. ", lambda t, n: opening(t, n, lambda _: 0)),
        ("Brackets are counted by", lambda t, n: opening(t, n, str)),
        (
            "A bracket is closed",
            lambda t, n: trees_over(
                t, n, lambda one: re.sub(r"([()])\w+", r"\1A", one)
            ),
        ),
        (
            "Two trees beside",
            lambda t, n: trees_over(t, n, lambda one: f"(A {one} )A"),
        ),
        (
            "A phrase without",
            lambda t, n: trees_over(
                t, n, lambda one: re.sub(r"\((\w+) \)\1 ", "", one)
            ),
        ),
    ],
    "bracket-f1": [
        ("This is the precision", lambda a, b: f1(a, b, len(a), len(a))),
        ("This is the recall", lambda a, b: f1(a, b, len(b), len(b))),
        (
            "This is the plain mean",
            lambda a, b: (
                (f1(a, b, len(a), len(a)) + f1(a, b, len(b), len(b))) / 2
            ),
        ),
        ("Brackets are counted", lambda a, b: f1({*a}, {*b})),
        (
            "Each bracket found",
            lambda a, b: f1(a, [x for x in b for _ in a], b=len(b)),
        ),
        (
            "The labels are",
            lambda a, b: f1([x[1:] for x in a], [x[1:] for x in b]),
        ),
        ("This is the share", lambda a, b: f1(a, b) / (2 - f1(a, b))),
    ],
    "rotary-positions": [
        ("The pairs turn back", turning(lambda *at: -speed(*at))),
        ("The first pos", turning(lambda m, i, d: speed(m + 1, i, d))),
        ("All pairs", turning(lambda m, i, d: m)),
        (
            "The slowest",
            turning(lambda m, i, d: speed(m, d // 2 - 1 - i, d)),
        ),
        ("Component i", turning(speed, lambda half, i: (i, i + half))),
        ("The pairs turn too", turning(lambda m, i, d: speed(m, i, 2 * d))),
        ("The sinusoids", lambda x: x + sinusoids(*x.shape)),
        ("Nothing", lambda x: x.clone()),
    ],
    "join-answers": [
        ("This is the mean", lambda a1, L1, a2, L2: torch.lerp(a1, a2, 0.5)),
        (
            "The two answers are",
            lambda a1, L1, a2, L2: torch.lerp(
                a2, a1, (L1 / (L1 + L2)).unsqueeze(-1)
            ),
        ),
        (
            "The weights are ex",
            lambda a1, L1, a2, L2: torch.lerp(
                a1, a2, (L1 - L2).sigmoid()[..., None]
            ),
        ),
        (
            "The weights do not",
            lambda a1, L1, a2, L2: torch.einsum(
                "...d, ... -> ...d", a1, L1.exp()
            ).add(torch.einsum("...d, ... -> ...d", a2, L2.exp())),
        ),
        ("The answers are", lambda a1, L1, a2, L2: a2.add(a1)),
        (
            "Only the half",
            lambda a1, L1, a2, L2: a1.where((L1 - L2 > 0)[..., None], a2),
        ),
    ],
}
CASES = [
    pytest.param(name, start, wrong, id=f"{name}: {start}")
    for name, mistakes in WRONG.items()
    for start, wrong in mistakes
]
each_exercise = pytest.mark.parametrize("name", EXERCISES)


def test_every_exercise_is_tested():
    assert set(EXERCISES) == set(RIGHT) == set(WRONG)


@each_exercise
def test_what_is_right_is_told_so(name, capsys):
    check(name, RIGHT[name])
    said = " ".join(capsys.readouterr().out.split())
    assert said == f"{name}: right, tried on {EXERCISES[name].tried}"


@pytest.mark.parametrize("name, start, wrong", CASES)
def test_a_mistake_gets_its_own_hint(name, start, wrong, capsys):
    check(name, wrong)
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(f"{name}, a hint: {start}")
    exercise = EXERCISES[name]
    assert hint(exercise, wrong) in {*exercise.mistakes, *exercise.signs}


@each_exercise
def test_every_hint_is_reached_by_some_mistake(name):
    exercise = EXERCISES[name]
    for text in (*exercise.mistakes, *exercise.signs):
        starts = [start for start, _ in WRONG[name] if text.startswith(start)]
        assert starts, text


@each_exercise
def test_no_hint_is_the_code_of_the_solution(name):
    exercise = EXERCISES[name]
    for text in (*exercise.mistakes, *exercise.signs):
        assert len(text) < 160
        assert not re.search(r"tril|triu|softmax\(|lambda|return", text)


LABS, BUGS = ("risk", "parsing"), "16_bugs"  # which is an exercise itself
CHAPTERS = [
    path
    for path in chapters.find_chapters()
    if (path.stem < "18" or path.stem in LABS) and path.stem != BUGS
]
CALL = re.compile(r'check\("([\w-]+)", ')


def asked_in(path, kind):
    """The exercises that a chapter's cells of one kind check, counted."""
    cells = chapters.read(path).cells
    return Counter(
        name
        for cell in cells
        if cell.cell_type == kind
        for name in CALL.findall(cell.source)
    )


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_has_its_exercises_and_solves_them(path):
    own = {e.name for e in EXERCISES.values() if e.chapter == path.stem}
    assert len(own) >= 2
    for kind in ("markdown", "code"):
        assert asked_in(path, kind) == Counter(own), kind
    printed = "".join(
        output.text
        for cell in chapters.read(path).cells
        if cell.cell_type == "code" and CALL.search(cell.source)
        for output in cell.outputs
        if output.output_type == "stream"
    )
    for name in own:
        assert f"{name}: right, tried on" in printed


def test_no_exercise_belongs_to_another_chapter():
    with_some = {exercise.chapter for exercise in EXERCISES.values()}
    assert {path.stem for path in CHAPTERS} == with_some
    elsewhere = {*chapters.find_chapters()} - {*CHAPTERS}
    assert not any(asked_in(path, "code") for path in elsewhere)


def test_list_and_task(capsys):
    check()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " 1 attention: causal-mask, scaled-attention"
    assert len(lines) == len(CHAPTERS)
    check("causal-mask")
    assert "write f(length)" in capsys.readouterr().out


def test_unknown_name_lists_the_exercises():
    with pytest.raises(UserError, match="no exercise is called 'mask'") as e:
        check("mask", causal_mask)
    for name in EXERCISES:
        assert name in str(e.value)


def said_of(name, function):
    return hint(EXERCISES[name], function)


def test_error_in_the_function_becomes_a_hint_with_its_line():
    def broken(length):
        mask = torch.ones(length, length)
        return mask @ torch.ones(length + 1)  # the line

    said = said_of("causal-mask", broken)
    line = broken.__code__.co_firstlineno + 2
    assert f"For length = 5, line {line} (`return mask @" in said
    assert "RuntimeError" in said


def test_error_after_a_wrong_answer_does_not_hide_the_mistake():
    def wrong(length):
        return [~causal_mask(5)][length - 5]

    assert said_of("causal-mask", wrong).startswith("The polarity")


@pytest.mark.parametrize(
    "name, function, start",
    [
        ("causal-mask", causal_mask(4), "Give the function itself"),
        ("causal-mask", lambda: None, "It cannot be called as f(length)"),
        ("causal-mask", lambda n: None, "For length = 5: a tensor is asked"),
        ("causal-mask", lambda n: causal_mask(n + 1), "For length = 5: the s"),
        ("causal-mask", lambda n: ~torch.eye(n).bool(), "For length = 5: sha"),
        ("layer-size", lambda d: "many", "For d_model = 6: a number"),
        ("layer-size", lambda d: d, "For d_model = 6: 6 is too small"),
        ("layer-size", lambda d: math.nan, "For d_model = 6: the result is"),
        ("layer-norm", lambda x, *_: x / 0 * 0, "For x of shape [2, 3, 6]"),
        ("when-to-step", lambda n, a: 3, "For batches = 7, accumulate = 3: a"),
        ("when-to-step", lambda n, a: [3], "For batches = 7, accumulate = 3:"),
        ("three-masks", lambda s, t: [s], "For source of shape [2, 5], targ"),
        ("three-masks", lambda s, t: [s, s, s], "For source of shape [2, 5]"),
    ],
)
def test_what_fits_no_mistake_is_described(name, function, start):
    assert said_of(name, function).startswith(start)


def test_changing_the_input_is_told():
    def in_place(query, key, value, mask):
        query /= query.size(-1) ** 0.5
        return masked(query * query.size(-1) ** 0.5, key, value, mask)

    said = said_of("scaled-attention", in_place)
    assert said == "The function changes its input: work on a copy."


def test_whole_and_real_numbers_and_tensors_of_one_number_are_numbers():
    right = RIGHT["layer-size"]
    assert not said_of("layer-size", lambda d: float(right(d)))
    assert not said_of("layer-size", lambda d: np.float64(right(d)))
    assert not said_of("layer-size", lambda d: torch.tensor(right(d)))


@settings(max_examples=25)
@given(st.data())
def test_one_flipped_cell_is_never_right(data):
    length = data.draw(st.sampled_from([5, 1, 2, 9]))
    cell = [data.draw(st.integers(0, length - 1)) for _ in range(2)]

    def flipped(n):
        mask = causal_mask(n)
        if n == length:
            mask[cell[0], cell[1]] ^= True
        return mask

    assert said_of("causal-mask", flipped) is not None


@settings(max_examples=25)
@given(st.floats(0, 2).filter(lambda power: abs(power - 0.5) > 0.01))
def test_no_other_scale_is_right(power):
    wrong = attention(lambda d: d**-power)
    assert said_of("scaled-attention", wrong) is not None


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(1, 20))
def test_references_agree_with_the_package(length, half):
    reference = {name: e.reference for name, e in EXERCISES.items()}
    assert torch.equal(reference["causal-mask"](length), causal_mask(length))
    table = reference["positions"](length, 2 * half)
    assert torch.allclose(table, sinusoids(length, 2 * half), atol=1e-6)
    assert math.isclose(
        reference["schedule"](length, half, 17),
        inverse_sqrt_rate(length + 1, half, 17),
    )
    assert reference["row-b"](half) == row_b(half)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.0, 1.0]))
@example(492, 4, 0.0)
def test_reference_search_agrees_with_the_package(seed, width, alpha):
    draw = torch.Generator().manual_seed(seed)
    log_p = torch.randn(5, 5, generator=draw).log_softmax(-1)
    ours, theirs = (
        find(log_p, width, alpha, 5)
        for find in (EXERCISES["beam-search"].reference, search)
    )
    # outputs that take the same steps in another order are equally probable
    steps = [
        sorted(itertools.pairwise([BOS, *output, EOS][:6]))
        for output in (ours, theirs)
    ]
    assert steps[0] == steps[1]
