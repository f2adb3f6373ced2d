"""Languages without blanks: their names, and what asks for their words."""

import pytest
from without_blanks import LANGUAGES, SENTENCES

from annotated_transformer.text.checks import LONG, missing_blanks
from annotated_transformer.text.languages import (
    between_sentences,
    bleu_tokenizer,
)


@pytest.mark.parametrize(("language", "cut", "_"), LANGUAGES)
def test_a_language_is_known_by_code_and_name(language, cut, _):
    assert bleu_tokenizer(language) == cut


@pytest.mark.parametrize(
    "language",
    ["de", "en", "fr", "ko", "vi", "ms-MY", "en_TH", "x-zh", "", " ", "thx"],
)
def test_others_are_cut_into_words(language):
    assert bleu_tokenizer(language) == "13a"


def test_sentences_are_joined_as_a_language_joins_them():
    for language in ("zh", "ja-JP", "Cantonese"):
        assert between_sentences(language) == ""
    for language in ("th", "my_MM", "bod", "de", ""):
        assert between_sentences(language) == " "


@pytest.mark.parametrize("cut", SENTENCES)
def test_words_that_are_not_found_are_told(cut):
    short, long = "x" * LONG, "".join(SENTENCES[cut])
    assert len(long) > LONG
    for unknown in ("", "de", "xx"):
        told = missing_blanks([short, long, f" {long} ", ""], unknown)
        assert f"{unknown!r} is not known" in told
        words = ["ein Hund rennt am Strand entlang"] * 9
        assert missing_blanks([*words, long], unknown) == ""
        assert missing_blanks([short, "", " " * 2 * LONG], unknown) == ""
    known = {"zh": "zh-TW", "ja-mecab": "Japanese", "char": "TH"}
    assert missing_blanks([long], known[cut]) == ""
