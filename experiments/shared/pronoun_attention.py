"""Whether a translator looks from "it" at the noun that it means."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor

from annotated_transformer.corpora.builtin import GrammarExample, words
from annotated_transformer.data import Tokenizer, encode_pairs, make_batch
from annotated_transformer.model import EncoderDecoder
from annotated_transformer.translation import attention_maps


class Pronoun(NamedTuple):
    """An "it", the nouns of its sentence, and which of them it means."""

    example: GrammarExample
    place: int
    nouns: list[int]
    meant: int  # one of the nouns


def words_of_pieces(pieces: list[str]) -> list[int]:
    """The word, or punctuation mark, that each piece belongs to."""
    starts = [piece.startswith("▁") or piece in ",." for piece in pieces]
    return [word - 1 for word in accumulate(starts)]


def pronouns(examples: Iterable[GrammarExample]) -> Iterator[Pronoun]:
    """Each "it" with two nouns or more before it, any of which it may mean."""
    found = [
        (example, words(example.source), *cue)
        for example in examples
        for cue in example.cues
    ]
    found = [(e, text, it, n) for e, text, it, n in found if text[it] == "it"]
    meant = {text[noun] for _, text, _, noun in found}
    for example, text, it, noun in found:
        nouns = [i for i in range(it) if text[i] in meant]
        if len(nouns) > 1:
            yield Pronoun(example, it, nouns, noun)


@torch.no_grad()
def hits(
    model: EncoderDecoder, tokenizer: Tokenizer, pronoun: Pronoun
) -> dict[str, Tensor]:
    """Which heads look more at the noun that is meant than at any other.

    Those of the encoder from "it", those of cross-attention where the German
    pronoun is to be written.
    """
    example, it, nouns, meant = pronoun
    pair = example.source, example.target
    batch = make_batch(encode_pairs([pair], tokenizer, 64)[0])
    maps = attention_maps(model, batch.source, batch.inputs)
    sides = [words_of_pieces(tokenizer.split(text)) for text in pair]
    written = {j for i, j in example.alignment if i == it}
    rows = {
        "encoder": [i for i, word in enumerate(sides[0]) if word == it],
        "cross": [i for i, word in enumerate(sides[1]) if word in written],
    }
    columns = [
        [i for i, word in enumerate(sides[0]) if word == noun]
        for noun in nouns
    ]
    right = {}
    for stack, places in rows.items():
        weights = torch.cat(getattr(maps, stack))[:, :, places].mean(2)
        on_nouns = [weights[..., column].sum(-1) for column in columns]
        looked = torch.stack(on_nouns, -1).argmax(-1)
        right[stack] = (looked == nouns.index(meant)).flatten()
    return right


def probe(
    model: EncoderDecoder,
    tokenizer: Tokenizer,
    examples: Iterable[GrammarExample],
) -> dict[str, float]:
    """How often the best head of each stack finds the noun that is meant.

    The head is chosen on every other sentence and judged on the rest.
    """
    found = list(pronouns(examples))
    each = [hits(model, tokenizer, pronoun) for pronoun in found]
    result = {
        "nouns_nearest": fmean(x.nouns[-1] == x.meant for x in found),
        "nouns_chance": fmean(1 / len(x.nouns) for x in found),
    }
    for stack in ("encoder", "cross"):
        right = torch.stack([hit[stack] for hit in each]).float()
        best = right[::2].mean(0).argmax()
        result[f"nouns_{stack}"] = right[1::2, best].mean().item()
    return result
