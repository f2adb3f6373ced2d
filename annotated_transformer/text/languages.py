"""Languages written without blanks between words, which BLEU counts."""

import re
from importlib.util import find_spec
from locale import locale_alias

# How sacrebleu cuts them, and their codes and English names.
WITHOUT_BLANKS = {
    "zh": "zh zho chi cmn yue wuu gan hsn lzh chinese mandarin cantonese",
    "ja-mecab": "ja jpn japanese",
    "char": "th tha thai lo lao km khm khmer my mya bur burmese "
    "bo bod tib tibetan dz dzo dzongkha shn shan",
}
CUTS = {
    name: cut
    for cut, names in WITHOUT_BLANKS.items()
    for name in names.split()
}
WORDS = "13a"  # sacrebleu's words between blanks and signs


def cut_of(language: str) -> str:
    """How sacrebleu cuts a language, whatever its region, script and case."""
    return CUTS.get(re.split(r"[\W_]", language.strip().lower())[0], WORDS)


def bleu_tokenizer(language: str) -> str:
    """The tokenizer of sacrebleu for texts of a language; 13a if unknown.

    Japanese is cut into characters where MeCab is not installed.
    """
    cut = cut_of(language)
    if cut == "ja-mecab" and not all(map(find_spec, ("MeCab", "ipadic"))):
        return "char"
    return cut


def between_sentences(language: str) -> str:
    """Nothing in Chinese and Japanese, else a blank, as in Thai too."""
    return "" if cut_of(language) in ("zh", "ja-mecab") else " "


def language_in(title: str) -> str:
    """The language whose name a title begins with; "" if there is none.

    Of German and deutsch it is the same.
    """
    first = re.match(r"[^\W\d_]{4,}", title.strip().casefold())
    name = first[0] if first else ""
    return locale_alias.get(name, CUTS.get(name, "")).partition("_")[0]
