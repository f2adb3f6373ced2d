"""What a run reads: the text to learn from, and the text to validate on."""

from collections.abc import Iterable

from ..corpora.corpus import Corpus
from ..corpora.running_text import RunningText
from ..data import Batch, Pair, Tokenizer
from ..embedding import EOS
from ..errors import UserError
from ..system.cache import CACHE, Cache
from .batches import TrainingText, fixed_batches, longest_side, short_enough
from .encoding import encoded
from .recipes import Recipe
from .windows import VALID_TOKENS, TextWindows, token_ids


def read_corpus(
    corpus: Corpus | RunningText,
    tokenizer: Tokenizer,
    recipe: Recipe,
    cache: Cache = CACHE,
) -> tuple[TrainingText | TextWindows, Iterable[Batch], list[Pair]]:
    """What a run learns from, what it is validated on, and the pairs of that.

    UserError for a text that is too small.
    """
    config = recipe.train
    if isinstance(corpus, Corpus):
        text = TrainingText(corpus, tokenizer, recipe, cache)
        valid = encoded(corpus.valid, tokenizer, recipe.tokenizer, cache)
        name, size = "validation text", len(corpus.valid)
        places = short_enough(name, valid, recipe, 0, size).tolist()
        examples = [valid[i] for i in places]
        batches = fixed_batches(examples, config.batch_tokens)
        return text, batches, [corpus.valid[i] for i in places]
    length = longest_side(recipe)
    ids = {}
    for name, held_out in ("training", False), ("held-out", True):
        ids[name] = token_ids(corpus, tokenizer, held_out, cache)
        if len(ids[name]) <= length:
            told = "name more text, or lower `max_length`"
            if held_out and (ids[name] == EOS).all():  # no line is
                told = "whole lines are held out, and the last is longer than "
                told += f"`held_out={corpus.held_out}` of the text: break it "
                told += "into lines, one for each sentence or paragraph"
            raise UserError(
                f"the {name} text has {len(ids[name]) - 1} tokens, and a "
                f"window has {length}: {told}"
            )
    rows = config.batch_tokens // length
    learned = TextWindows(ids["training"], length, rows, config.seed)
    rows = max(VALID_TOKENS // length, 1)
    return learned, TextWindows(ids["held-out"], length, rows), []
