"""Capitals of words within a line, set again in its translation."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ..errors import UserError
from .casing import in_capitals
from .reading import Part

TINY = torch.finfo(torch.float32).tiny  # no weight at all stays none
# of a source and a target: maps, and the pieces of both with EOS
Attention = Callable[[str, str], tuple[Any, list[str], list[str]]]


def members(pieces: list[str]) -> Float[Tensor, "words pieces"]:
    """One where a piece is part of a word, zero elsewhere.

    Words are what spaces separate; a piece of spaces alone is in none.
    """
    numbers, word, before = [], -1, "▁"
    for piece in pieces:
        for letter in piece:
            word += before == "▁" != letter
            before = letter
        numbers.append(-1 if before == "▁" else word)
    words = torch.arange(word + 1)
    return (words[:, None] == torch.tensor(numbers)).float()


def weights_of_words(
    cross: Sequence[Tensor], place: int, source: list[str], target: list[str]
) -> Float[Tensor, "target_words source_words"]:
    """How much the model looked at each source word for each target word.

    That is the sum, over the pieces of both, of the mean over the heads of the
    last decoder layer but one. (The last layer often looks elsewhere.) Each
    weight is divided by the root of what its source piece receives in all,
    since some, such as the full stop, are looked at for want of anything
    better. cross has a tensor [batch, heads, targets, sources] for each layer;
    place is the pair's in its batch.
    """
    rows, columns = members(target), members(source)
    weights = cross[-2:][0][place].mean(0).float().cpu()
    weights = weights[: rows.size(1), : columns.size(1)]
    # the geometric mean of shares of its row and of its column
    weights = weights / weights.sum(0).clamp(min=TINY).sqrt()
    return rows[:, : len(weights)] @ weights @ columns.T


def emphasised(part: Part, text: str, attention: Attention) -> str:
    """A translation with capitals where words of its part were in capitals.

    attention is TextModel's: it says where the model looked as it wrote. Set
    is a word that looked most at such a word, if of all words it looked
    there most, which leaves out about one in seven. (Without that condition
    one in eight would be a wrong one, an article or a neighbour; with it, one
    in fifty.)
    """
    if not part.loud:
        return text
    try:
        maps, source, target = attention(part.sentence, text)
    except UserError:  # a model without maps, or text of more positions
        return text
    weights = weights_of_words(maps.cross, 0, source[:-1], target[:-1])
    words = re.split(r"(\S+)", text)  # every second one is a blank
    if weights.shape != (len(words) // 2, len(part.sentence.split())):
        return text  # blanks that the tokenizer takes for letters
    for i in part.loud if len(weights) else ():
        j = int(weights[:, i].argmax())
        if int(weights[j].argmax()) == i:
            words[2 * j + 1] = in_capitals(words[2 * j + 1])
    return "".join(words)
