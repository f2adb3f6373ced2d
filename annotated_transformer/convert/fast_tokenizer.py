"""The same tokenizer in `tokenizers`, the library of fast ones."""

from typing import Any

from ..data import Tokenizer
from ..embedding import EOS, UNK
from ..errors import UserError
from ..system.machine import needed
from ..text.normalization import rules

OTHERS = "ﬁ Å ① ２ ｶﾞ ㎏ \u0308 ﷺ"  # what the rules of other makers rewrite


def fast_tokenizer(tokenizer: Tokenizer, running: bool = False) -> Any:
    """A tokenizers.Tokenizer that gives the same ids, and the same text.

    EOS ends a sentence; of running text it comes first, as a language model
    reads it. UserError for a tokenizer with other rules than this package's.
    """
    fast = needed("tokenizers", "huggingface")
    ids = {piece: i for i, piece in enumerate(tokenizer.vocabulary)}
    blank = tokenizer.pieces.normalize("a") == "▁a"  # one before the text
    found = fast.Tokenizer(subwords(fast.models, tokenizer, ids))
    steps = spelling(fast, tokenizer, ids)
    steps += [fast.normalizers.Prepend("▁")] * blank
    found.normalizer = fast.normalizers.Sequence(steps)
    found.decoder = fast.decoders.Sequence(
        [
            fast.decoders.Replace("▁", " "),
            fast.decoders.Fuse(),
            fast.decoders.Strip(" ", int(blank), 0),
        ]
    )
    pieces = [piece.replace("▁", " ") for piece in ids][UNK + 1 :]
    texts = ["".join(pieces[i : i + 64]) for i in range(0, len(pieces), 64)]
    for text in [OTHERS, *texts, *rules()]:
        if found.encode(text).ids != tokenizer.encode(text)[:-1]:
            raise UserError(
                "the model's tokenizer reads text by rules of its own, which "
                "no fast tokenizer here has: convert it for CTranslate2, "
                "which takes tokenizer.model as it is"
            )
    end = tokenizer.vocabulary[EOS]
    found.post_processor = fast.processors.TemplateProcessing(
        single=f"{end} $A" if running else f"$A {end}",
        special_tokens=[(end, EOS)],
    )
    return found


def spelling(
    fast: Any, tokenizer: Tokenizer, ids: dict[str, int]
) -> list[Any]:
    """What the tokenizer does to a text before it cuts it into pieces.

    Longer rules come first, and those are left out that only make one
    unknown character of several: unknown ones in a row are one piece anyway.
    """
    steps, replace = [], fast.normalizers.Replace
    known = {sign for piece in ids for sign in piece}
    if tokenizer.pieces.normalize("’").endswith("'"):
        for old, new in sorted(rules().items(), key=lambda x: -len(x[0])):
            if len(old) == 1 or known & {*old, *new}:
                steps.append(replace(old, new))
        steps += [replace(fast.Regex(" +"), " "), fast.normalizers.Strip()]
    return [*steps, replace(" ", "▁")]


def subwords(models: Any, tokenizer: Tokenizer, ids: dict[str, int]) -> Any:
    """The pieces: a list of scores, or merges (BPE), of which char has none.

    A text with the name of a reserved piece in it, such as <s>, has that
    piece if they are a list.
    """
    scores = {x: tokenizer.pieces.get_score(i) for x, i in ids.items()}
    reserved = tokenizer.vocabulary[: UNK + 1]
    merges = needed(
        "transformers.convert_slow_tokenizer", "huggingface"
    ).generate_merges(ids, scores, reserved)
    if merges and not all(score.is_integer() for score in scores.values()):
        return models.Unigram([*scores.items()], UNK)
    return models.BPE(ids, merges, unk_token=reserved[UNK], fuse_unk=True)
