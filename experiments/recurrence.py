"""Recurrence, convolution and attention at equal size, on the same work.

Three translators of about 250,000 parameters learn the built-in corpus, and
to reverse strings of letters. The recipe is shared: Adam, a linear
schedule, gradients clipped at 1, no dropout, the same batches. Only the
peak of the rate is each model's own: the best of four in shorter runs with
seed 0 (the runs "rate=..."). The control is a recurrent translator whose
decoder sees nothing of the source but its own first state.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import accumulate
from statistics import fmean, median

import torch
from torch import nn

from annotated_transformer.corpora import Corpus, builtin
from annotated_transformer.data import (
    Example,
    Pair,
    Tokenizer,
    copy_task,
    encode_pairs,
    make_batch,
    pad,
    train_tokenizer,
    training_batches,
)
from annotated_transformer.decoding import beam_decode
from annotated_transformer.grammar import Example as GrammarExample
from annotated_transformer.grammar import builtin_corpus
from annotated_transformer.model import ModelConfig, Transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.recurrence import (
    ConvolutionalTranslator,
    DotProductAttention,
    RecurrentTranslator,
    search,
)
from annotated_transformer.training import TrainConfig, updates, validate
from annotated_transformer.translation import score

LETTERS = "abcdefghijklmnop"
REVERSING = 200  # updates
LONGEST, LONGER = 8, (9, 12)  # letters: of training, and beyond it
LENGTHS = (("short_", 0, 9), ("long_", 14, 99))  # words of a source
DECODED = 200  # sentences that are translated for BLEU
SEEDS = (0, 1)
TRIED = (3e-3, 6e-3, 1.2e-2, 2.4e-2)
RATES = {
    "transformer": 1.2e-2,
    "recurrent": 2.4e-2,
    "convolutional": 2.4e-2,
    "unattended": 2.4e-2,
}
TRAIN = TrainConfig(
    steps=400, batch_tokens=512, schedule="linear", warmup=60, clip=1.0
)
RECIPE = asdict(TRAIN) | {
    "rates": RATES,
    "vocab_size": 1000,
    "updates of reversing": REVERSING,
}


class Unattended(DotProductAttention):
    """The control: weights of zero, so that no memory reaches the decoder."""

    def weights(self, query, keys, mask):
        """Nothing is looked at."""
        return torch.zeros_like(query @ keys.mT)


def models(vocab_size: int) -> dict[str, Callable[[], nn.Module]]:
    """The three translators, at one size, and the control."""
    config = ModelConfig(
        vocab_size=vocab_size,
        layers=2,
        d_model=64,
        d_ff=160,
        heads=4,
        dropout=0.0,
        pre_norm=True,
    )
    recurrent = partial(RecurrentTranslator, vocab_size, 64, 100)
    return {
        "transformer": partial(Transformer, config),
        "recurrent": recurrent,
        "convolutional": partial(ConvolutionalTranslator, vocab_size, 64, 3),
        "unattended": partial(recurrent, attention=lambda _: Unattended()),
    }


@cache
def corpus() -> Corpus:
    """The built-in corpus."""
    return builtin()


@cache
def subwords() -> Tokenizer:
    """The subwords of all training text, whatever is trained on."""
    lines = (side for pair in corpus().train for side in pair)
    return train_tokenizer(lines, RECIPE["vocab_size"])


def pairs_of(examples: Iterable[GrammarExample]) -> list[Pair]:
    """Source and target of the grammar's examples."""
    return [(x.source, x.target) for x in examples]


def trained(
    name: str,
    examples: list[Example],
    vocab_size: int,
    seed: int,
    rate: float | None,
    steps: int,
) -> tuple[nn.Module, list[float]]:
    """A model after its updates, and its smoothed loss every 20 of them."""
    torch.manual_seed(seed)
    model = models(vocab_size)[name]()
    rate = rate or RATES[name]
    recipe = replace(TRAIN, steps=steps, peak_rate=rate, seed=seed)
    batches = training_batches(examples, recipe.batch_tokens, seed)
    optimizer = adam(model.parameters())
    losses = [u.loss for u in updates(model, batches, optimizer, recipe, 64)]
    return model.eval(), [
        round(fmean(losses[i : i + 20]), 4) for i in range(0, steps, 20)
    ]


def decoded(model: nn.Module, sources: list[list[int]]) -> list[list[int]]:
    """Greedy outputs, in batches of 100 sources."""
    find = beam_decode if isinstance(model, Transformer) else search
    return [
        best[0].tokens
        for i in range(0, len(sources), 100)
        for best in find(model, pad(sources[i : i + 100]), width=1)
    ]


@torch.no_grad()
def predicted(model: nn.Module, examples: list[Example]) -> list[list[bool]]:
    """Which target tokens are predicted right, given the reference so far."""
    right = []
    for i in range(0, len(examples), 100):
        batch = make_batch(examples[i : i + 100])
        hits = model(batch.source, batch.inputs).argmax(-1) == batch.labels
        right += [
            row[:n].tolist()
            for row, n in zip(hits, batch.where.sum(1), strict=True)
        ]
    return right


def words_of_pieces(pieces: list[str]) -> list[int]:
    """The word, or punctuation mark, that each piece belongs to."""
    starts = [piece.startswith("▁") or piece in ",." for piece in pieces]
    return [word - 1 for word in accumulate(starts)]


def decided_words(
    right: list[list[bool]],
    examples: list[GrammarExample],
    tokenizer: Tokenizer,
) -> dict[str, list[int]]:
    """Predictions of words that another word of the source decides.

    By the distance of the two in words: how many are right, and of how many.
    """
    hits = defaultdict(list)
    for example, hit in zip(examples, right, strict=True):
        words = words_of_pieces(tokenizer.split(example.target))
        for decided, deciding in example.cues:
            own = {j for i, j in example.alignment if i == decided}
            places = [k for k, word in enumerate(words) if word in own]
            if places:
                distance = abs(decided - deciding)
                hits[distance].append(all(hit[k] for k in places))
    return {str(d): [sum(h), len(h)] for d, h in sorted(hits.items())}


def translate(
    name: str,
    seed: int,
    rate: float | None = None,
    steps: int = TRAIN.steps,
) -> dict:
    """Train on the built-in corpus, and test."""
    train, test = builtin_corpus()[::2]
    tokenizer = subwords()
    examples, _ = encode_pairs(pairs_of(train), tokenizer, 64)
    model, losses = trained(name, examples, len(tokenizer), seed, rate, steps)
    held_out, _ = encode_pairs(pairs_of(test), tokenizer, 64)
    found = validate(model, [make_batch(held_out)])
    result = {
        "perplexity": round(found.perplexity, 4),
        "loss": losses,
    }
    if rate is not None:
        return result
    some = [source for source, _ in held_out[:DECODED]]
    outputs = [tokenizer.decode(ids) for ids in decoded(model, some)]
    right = predicted(model, held_out)
    result["decided"] = decided_words(right, test, tokenizer)
    lengths = [len(x.source.split()) for x in test]
    for kind, few, many in (("", 0, 99), *LENGTHS):
        here = [i for i, n in enumerate(lengths) if few <= n <= many]
        hits = [hit for i in here for hit in right[i]]
        result[f"{kind}accuracy"] = round(fmean(hits), 4)
        here = [i for i in here if i < DECODED]
        found = score([outputs[i] for i in here], [test[i][1] for i in here])
        result[f"{kind}bleu"] = round(found.bleu, 2)
    return result


@cache
def strings() -> tuple[list[Example], dict[int, list[Example]], Tokenizer]:
    """Strings and their reversals: to train on, to test with by length."""
    short = copy_task(20_200, 0, LETTERS, (3, LONGEST))
    tests = {n: copy_task(200, n, LETTERS, (n, n)) for n in LONGER}
    tokenizer = train_tokenizer(LETTERS, len(LETTERS) + 5, "char")

    def reversed_pairs(pairs: list[Pair]) -> list[Example]:
        turned = [(text, text[::-1]) for text, _ in pairs]
        return encode_pairs(turned, tokenizer, 64)[0]

    tests[LONGEST] = [x for x in short[:200] if len(x[0]) == LONGEST]
    return (
        reversed_pairs(short[200:]),
        {n: reversed_pairs(test) for n, test in tests.items()},
        tokenizer,
    )


def reversal(name: str, seed: int, steps: int = REVERSING) -> dict:
    """Train to reverse short strings; exact outputs by length."""
    train, tests, tokenizer = strings()
    model, losses = trained(name, train, len(tokenizer), seed, None, steps)
    result = {"loss": losses}
    for letters, test in tests.items():
        outputs = decoded(model, [source for source, _ in test])
        result[f"exact_{letters}"] = fmean(
            ids == target[:-1]
            for (_, target), ids in zip(test, outputs, strict=True)
        )
    return result


def speed(name: str, words: int, seed: int) -> dict:
    """Processor time of an update on 1,024 words a side."""
    torch.manual_seed(seed)
    model = models(RECIPE["vocab_size"])[name]()
    shape = 1024 // words, words
    rows = torch.randint(4, RECIPE["vocab_size"], shape).tolist()
    batch = make_batch([(row, row) for row in rows])
    optimizer, seconds = adam(model.parameters()), []
    one = replace(TRAIN, steps=1)
    for _ in range(12):
        start = time.process_time()
        list(updates(model, iter([batch]), optimizer, one, 64))
        seconds.append(time.process_time() - start)
    return {"update_seconds": round(median(seconds[2:]), 5)}


FOUR = tuple(RATES)
THREE = FOUR[:3]
RUNS: dict[str, Callable[[], dict]] = (
    {
        f"rate={rate} {name} seed={seed}": partial(
            translate, name, seed=seed, rate=rate, steps=150
        )
        for name in THREE
        for rate in TRIED
        for seed in SEEDS[:1]
    }
    | {
        f"translate {name} seed={seed}": partial(translate, name, seed=seed)
        for seed in SEEDS
        for name in THREE
    }
    | {
        f"reverse {name} seed={seed}": partial(reversal, name, seed=seed)
        for seed in SEEDS
        for name in FOUR
    }
    | {
        f"reverse longer transformer seed={seed}": partial(
            reversal, "transformer", seed=seed, steps=4 * REVERSING
        )
        for seed in SEEDS
    }
    | {
        f"speed {name} words={words} seed={seed}": partial(
            speed, name, words, seed=seed
        )
        for words in (16, 64)
        for seed in SEEDS
        for name in THREE
    }
)
