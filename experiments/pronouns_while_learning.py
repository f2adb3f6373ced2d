"""What a translator writes while it learns, beside its loss.

The model of "pronoun_resolution" is trained on the same text in half as many
updates, and stopped sixteen times on the way. Each time its held-out loss is
measured, it translates three sentences that it never reads ("The dog ate the
soup because it was hungry." and two of its variations), and of all variations
it is counted how many pronouns are right, freely decoded.

Then it is given the right translations word by word: what does it expect
where the pronoun comes? And of one seed, where does a head of its last
cross-attention look before each word? The head was chosen afterwards, as the
one that looks, in the end, at what the pronoun depends on.
"""

from dataclasses import replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.corpora.builtin import words
from annotated_transformer.data import encode_pairs, make_batch
from annotated_transformer.teaching.pronoun_sentences import (
    PRONOUNS,
    variations,
)
from annotated_transformer.training import evaluating
from annotated_transformer.translation import Translator, attention_maps

from .pronoun_resolution import BASE as SHIPPED
from .pronoun_resolution import corpus, pronouns_in, tokenizer
from .shared.grid import Result, grid
from .shared.pronoun_attention import words_of_pieces
from .shared.training_loops import begun, validated

BASE = replace(SHIPPED, train=replace(SHIPPED.train, steps=4000))
LOOKS = (
    *(10, 50, 100, 150, 200, 250, 300, 400, 500, 600, 750),
    *(1000, 1500, 2000, 3000, 4000),
)
PAIRS = {
    "The dog ate the soup because it was hungry.": (
        "Der Hund fraß die Suppe, weil er hungrig war."
    ),
    "The dog ate the soup because it was sweet.": (
        "Der Hund fraß die Suppe, weil sie süß war."
    ),
    "The cat ate the bread because it was sweet.": (
        "Die Katze fraß das Brot, weil es süß war."
    ),
}
HEAD = 2, 1  # layer and head of cross-attention, counted from 1, of seed 0
RECIPE = BASE.as_json() | {
    "looks": [*LOOKS],
    "sentences": PAIRS,
    "head": [*HEAD],
}


def look(translator: Translator) -> Result:
    """What it writes now, and how many pronouns of the variations are right.

    A translation without exactly one pronoun, the right one, is wrong.
    """
    asked = list(variations())
    outputs = translator([variation.source for variation in asked], beam=1)
    return {
        "written": translator(list(PAIRS), beam=1),
        "pronouns": fmean(
            pronouns_in(output) == [PRONOUNS[variation.right]]
            for output, variation in zip(outputs, asked, strict=True)
        ),
    }


@torch.no_grad()
def guided(
    translator: Translator, pair: tuple[str, str]
) -> tuple[list[float], Tensor]:
    """The chance of each of PRONOUNS where it comes, and the head's weights.

    Row i of the weights is what the head gives each word of the source, and
    last its end, before word i of the translation.
    """
    model, pieces = translator.model, translator.tokenizer
    source, target = map(words, pair)
    read, written = (words_of_pieces(pieces.split(text)) for text in pair)
    columns = torch.tensor([*read, len(source)])
    firsts = [written.index(word) for word in range(len(target))]
    batch = make_batch(encode_pairs([pair], pieces, 64)[0])
    given = batch.source, batch.inputs
    layer, head = HEAD
    weights = attention_maps(model, *given).cross[layer - 1][0, head - 1]
    by_word = torch.zeros(len(target), len(source) + 1)
    by_word.index_add_(1, columns, weights[firsts])
    (at,) = (i for i, word in enumerate(target) if word in PRONOUNS)
    ids = [pieces.encode(f"weil {pronoun}")[1] for pronoun in PRONOUNS]
    chances = model(*given)[0, firsts[at]].softmax(-1)[ids]
    return chances.tolist(), by_word


def train(seed: int, watched: bool) -> Result:
    """Train; the curve of the loss, and what was found at each look."""
    pieces = tokenizer()
    text, longest = corpus(), BASE.train.max_length
    model, turns = begun(BASE, seed, text.train, pieces)
    translator = Translator(model, pieces)
    losses: list[float] = []
    found: dict[str, list[Any]] = {}  # of each look
    for update in turns:
        losses.append(update.loss.item())
        if update.step in LOOKS:
            score = validated(model, pieces, text.valid, longest)
            seen: Result = {"loss": score.loss, "accuracy": score.accuracy}
            with evaluating(model):
                seen |= look(translator)
                each = [guided(translator, pair) for pair in PAIRS.items()]
            if watched:
                seen["chances"] = [
                    [round(p, 3) for p in chances] for chances, _ in each
                ]
                seen["maps in percent"] = [
                    (100 * weights).round().int().tolist()
                    for _, weights in each
                ]
            for name, value in seen.items():
                found.setdefault(name, []).append(value)
    return found | {
        "curve": [round(loss, 4) for loss in losses[9::10]],
        "last loss": found["loss"][-1],
        "last pronouns": found["pronouns"][-1],
    }


RUNS = grid(
    train,
    "trained seed={seed}",
    seed={seed: {"seed": seed, "watched": seed == 0} for seed in range(3)},
)
