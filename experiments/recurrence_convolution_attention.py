"""Recurrence, convolution and attention at equal size, on the same work.

Three translators of about 250,000 parameters learn the built-in corpus, and
to reverse strings of letters. The recipe is shared: Adam, a
linear schedule, gradients clipped at 1, no dropout, the same batches. Only
the peak of the rate is each model's own: the best of four in shorter runs
(the runs "rate=..."). The control is a recurrent translator whose
decoder sees nothing of the source but its own first state; it tries to
reverse strings at each of the rates, and with four times the updates.

Those of "sentences" learn the same text without the sentence that the book
follows. They translate it, what differs from it by a word or two, and the
first sentences of the test.

With "layers=..." an encoder is shallow or deep, and all learn at one careful
rate, which suits deep ones.
"""

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from statistics import fmean, median

import torch
from torch import nn

from annotated_transformer.corpora.builtin import (
    GrammarExample,
    example_splits,
    sentence_pairs,
    words,
)
from annotated_transformer.corpora.builtin.lexicon import QUALITIES
from annotated_transformer.corpora.generated import FOLLOWED
from annotated_transformer.data import (
    Example,
    Pair,
    Tokenizer,
    encode_pairs,
    make_batch,
)
from annotated_transformer.model import Transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.teaching.pronoun_sentences import (
    PRONOUNS,
    variations,
)
from annotated_transformer.training import updates, validate
from annotated_transformer.translation import corpus_scores

from .shared import translators
from .shared.grid import Result, grid
from .shared.letter_strings import REVERSING, reversal
from .shared.pronoun_attention import probe, words_of_pieces
from .shared.small_translator import corpus as corpus
from .shared.small_translator import tokenizer
from .shared.translators import RATES, TRAIN, decoded, models, trained

LENGTHS = (("short_", 0, 9), ("long_", 14, 99))  # words of a source
DECODED = 200  # sentences that are translated for BLEU
TRIED = (3e-3, 6e-3, 1.2e-2, 2.4e-2)
TUNED = (0, 1)  # the seeds of the shorter runs that choose a rate
SEEDS = (0, 1, 2)
DRAWN = 6000  # further sentences, to find enough of "it" among them
BOOK = tuple(
    f"The dog ate the soup because it was {quality}."
    for quality in ("hungry", "sweet")
)
SHOWN = 4  # sentences of the test whose translations are kept
SHORTER = 400  # updates of shallow and deep encoders
CAREFUL = TRIED[0]
RECIPE = translators.RECIPE | {
    "updates": {
        "rate": 300,
        "layers": SHORTER,
        "reverse": REVERSING,
    },
}


def pairs_of(examples: Iterable[GrammarExample]) -> list[Pair]:
    """Source and target of the grammar's examples."""
    return [(x.source, x.target) for x in examples]


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
    layers: int | None = None,
) -> Result:
    """Train on the built-in corpus, and test."""
    train, test = example_splits()[::2]
    pieces = tokenizer()
    examples, _ = encode_pairs(pairs_of(train), pieces, 64)
    build = models(len(pieces), layers)[name]
    model, losses = trained(build, examples, seed, rate or RATES[name], steps)
    held_out, _ = encode_pairs(pairs_of(test), pieces, 64)
    found = validate(model, [make_batch(held_out)])
    result: Result = {
        "perplexity": round(found.perplexity, 4),
        "accuracy": round(found.accuracy, 4),
        "loss": losses,
    }
    if steps < TRAIN.steps:
        return result
    some = [source for source, _ in held_out[:DECODED]]
    outputs = [pieces.decode(ids) for ids in decoded(model, some)]
    right = predicted(model, held_out)
    result["decided"] = decided_words(right, test, pieces)
    lengths = [len(x.source.split()) for x in test]
    for kind, few, many in (("", 0, 99), *LENGTHS):
        here = [i for i, n in enumerate(lengths) if few <= n <= many]
        hits = [hit for i in here for hit in right[i]]
        result[f"{kind}accuracy"] = round(fmean(hits), 4)
        here = [i for i in here if i < DECODED]
        scores = corpus_scores(
            [outputs[i] for i in here], [test[i][1] for i in here]
        )
        result[f"{kind}bleu"] = round(scores.bleu, 2)
    if isinstance(model, Transformer):
        read = {example.source for example in train}
        drawn = sentence_pairs(DRAWN, seed=len(train))
        new = [example for example in drawn if example.source not in read]
        torch.manual_seed(seed)
        for kind, each in (("", model), ("untrained_", build().eval())):
            looks = probe(each, pieces, new)
            result |= {kind + key: value for key, value in looks.items()}
    return result


def sentences(name: str, seed: int) -> Result:
    """Translations of the book's sentence, by a model that has not read it.

    And of all that differ from it in a noun or in the last word, where two
    nouns of different gender come before "it": the share of right pronouns,
    for the noun that is further from "it" and for the nearer one.
    """
    train, test = example_splits()[::2]
    read = [x for x in train if not FOLLOWED.fullmatch(x.source)]
    pieces = tokenizer()
    examples, _ = encode_pairs(pairs_of(read), pieces, 64)
    build = models(len(pieces))[name]
    model, _ = trained(build, examples, seed, RATES[name], TRAIN.steps)
    asked = list(variations())
    sources = [variation.source for variation in asked]
    sources += [example.source for example in test[:SHOWN]]
    outputs = decoded(model, [pieces.encode(source) for source in sources])
    texts = [pieces.decode(ids) for ids in outputs]
    hits = defaultdict(list)
    for variation, text in zip(asked, texts[:-SHOWN], strict=True):
        found = [word for word in words(text) if word in PRONOUNS]
        is_food = variation.quality in QUALITIES["taste"]
        right = found == [PRONOUNS[variation.right]]
        hits["nearer" if is_food else "further"].append(right)
    kept = dict(zip(sources, texts, strict=True))
    shown = (*BOOK, *sources[-SHOWN:])
    return {
        "pronouns_further": round(fmean(hits["further"]), 4),
        "pronouns_nearer": round(fmean(hits["nearer"]), 4),
        "outputs": {source: kept[source] for source in shown},
    }


def speed(name: str, words: int, seed: int) -> Result:
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
THREE, TWO = FOUR[:3], FOUR[:2]
KEY = "{name} seed={seed}"
shorter = partial(translate, steps=SHORTER)
RUNS = grid(
    partial(translate, steps=300),
    "rate={rate} " + KEY,
    name=THREE,
    rate=TRIED,
    seed=TUNED,
)
RUNS |= grid(translate, f"translate {KEY}", seed=SEEDS, name=THREE)
RUNS |= grid(sentences, f"sentences {KEY}", seed=SEEDS, name=THREE)
RUNS |= grid(
    speed,
    "speed {name} words={words} seed={seed}",
    words=(16, 64),
    seed=SEEDS,
    name=THREE,
)
RUNS |= grid(reversal, f"reverse {KEY}", seed=SEEDS, name=FOUR)
longer = partial(reversal, steps=4 * REVERSING)
RUNS |= grid(
    longer,
    "reverse longer {name} seed={seed}",
    name=["transformer"],
    seed=SEEDS,
)
RUNS |= grid(
    longer,
    "reverse longer {name} rate={rate} seed={seed}",
    name=["unattended"],
    rate=TRIED,
    seed=SEEDS,
)
for name, depths in zip(TWO, ((2, 8), (1, 8)), strict=True):
    RUNS |= grid(
        partial(shorter, rate=CAREFUL),
        "layers={layers} " + KEY,
        name=[name],
        layers=depths,
        seed=SEEDS,
    )
