"""Fast tokenizers: the same ids and text as those of sentencepiece."""

import io

import pytest
import sentencepiece
from builtin_text import LINES
from odd_text import odd_strings

from annotated_transformer.convert.fast_tokenizer import fast_tokenizer
from annotated_transformer.data import Tokenizer, train_tokenizer
from annotated_transformer.errors import UserError

# some accents are in the text, so that they are subwords
TEXT = [*LINES, "Crème brûlée, Điện Biên, a naïve Ærø.", "x < y > z / a_b"]
SIGNS = ["<s>", "a</s>b", " <unk> <pad>", "a<s", "\ud7a3\u1100\u1161", ""]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"normalize": False}, {"normalize": False, "running": True}],
)
def test_odd_strings_get_the_same_ids(kind, settings):
    ours = train_tokenizer(TEXT, 200, kind, **settings)
    theirs = fast_tokenizer(ours)
    # a list of scores has the names of reserved pieces in it
    signs = SIGNS if kind != "unigram" else SIGNS[3:]
    for text in [*odd_strings(), *signs, *TEXT, "".join(TEXT)]:
        assert theirs.encode(text).ids == ours.encode(text), text


@pytest.mark.parametrize(
    "options", [{}, {"user_defined_symbols": ["dog"]}, {"byte_fallback": True}]
)
def test_rules_of_others_are_refused(options):
    """Such as NFKC, which sentencepiece has by default."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES),
        model_writer=model,
        vocab_size=400,
        minloglevel=2,
        **{"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3},
        **options,
    )
    with pytest.raises(UserError, match="by rules of its own"):
        fast_tokenizer(Tokenizer(model.getvalue()))
