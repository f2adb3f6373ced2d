"""Which words of a pair belong together, by the cross-attention."""

from collections.abc import Iterable
from itertools import pairwise

import torch

from ..data import bucket, make_batch
from ..errors import COUNT, UserError, check_kind
from ..text.emphasis import weights_of_words
from ..text.reading import Part
from ..translation import TextModel, Translation, attention_maps
from .reading import Given, read_pairs

Links = list[tuple[int, int]]  # numbers of words, source and target


def first_words(line: str, parts: Iterable[Part]) -> list[int]:
    """The number of the word of a line in which each part is first read.

    Between Chinese sentences there is no blank, so that they share a word.
    """
    words = [i for i, word in enumerate(line.split()) for _ in word] or [0]
    letters, place, found = "".join(line.split()), 0, list[int]()
    for part in parts:
        text, before = ("".join(x.split()) for x in (part.text, part.before))
        place = max(place, letters.find(text, place))  # behind blank parts
        found.append(words[min(place + len(before), len(words) - 1)])
        place += len(text)
    return found


@torch.inference_mode()
def align_pairs(
    translator: TextModel, pairs: Iterable[Given], batch_tokens: int = 1024
) -> list[Links]:
    """For each pair, the source word that each target word came from.

    That is the word with the most weight when the model had to predict the
    target word (see weights_of_words). A blank side has no links. Pairs and
    batches are read as those of score_pairs are. UserError for what is not
    text, ValueError for a batch that cannot be.
    """
    check_kind("batch_tokens", batch_tokens, int, COUNT)
    pairs = [*pairs]
    encode, split = translator.tokenizer.encode, translator.tokenizer.split
    most = translator.model.max_positions  # outputs may end there
    read = [*read_pairs(translator, pairs, check=False)]
    sentences = [(x.sentence, y.sentence) for _, some in read for x, y in some]
    examples = [(encode(x), encode(y)[:most]) for x, y in sentences]
    found: list[Links] = [[] for _ in sentences]
    lengths = [(len(source), len(target)) for source, target in examples]
    for places in bucket(lengths, batch_tokens):
        batch = make_batch([examples[i] for i in places])
        batch = batch.to(translator.device)
        maps = attention_maps(translator.model, batch.source, batch.inputs)
        for place, i in enumerate(places):
            pieces = map(split, sentences[i])
            by_word = weights_of_words(maps.cross, place, *pieces)
            found[i] = [
                (int(row.argmax()), j)
                for j, row in enumerate(by_word)
                if row.any()
            ]
    whole, each = [], iter(found)
    for (source, _), (target, some) in zip(pairs, read, strict=True):
        before = first_words(source, (x for x, _ in some))
        after = first_words(target, (y for _, y in some))
        starts = zip(before, after, strict=True)
        links = [(i + j, k + n) for i, k in starts for j, n in next(each)]
        whole.append([*dict.fromkeys(links)])
    return whole


def skipped_words(translator: TextModel, text: str, found: Translation) -> int:
    """Most words in a row that nothing in a translation came from.

    0 for a translation with nearly as many words as its source, which hardly
    leaves out any, since to align takes a third of the time of a search; where
    blanks do not separate words; and for a model without maps.
    """
    words, made = len(text.split()), len(found.text.split())
    if not 3 < made <= 0.75 * words:
        return 0
    try:
        (links,) = align_pairs(translator, [(text, found)])
    except UserError:
        return 0
    linked = sorted({source for source, _ in links})
    return max(b - a - 1 for a, b in pairwise([-1, *linked, words]))


def pharaoh(links: Links) -> str:
    """Links as other programs read them: 0-0 1-2, source first."""
    return " ".join(f"{source}-{target}" for source, target in links)
