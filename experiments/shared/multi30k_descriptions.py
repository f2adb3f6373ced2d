"""Multi30k's descriptions: five of each training image, in one language."""

import tomllib
import unicodedata
from pathlib import Path

from annotated_transformer.corpora.multi30k import (
    MULTI30K_URL,
    fetch,
    multi30k,
    of_languages,
)
from annotated_transformer.errors import UserError
from annotated_transformer.system.text_lines import read_lines

DESCRIPTIONS_URL = MULTI30K_URL.replace("task1", "task2")
DESCRIPTION_SUMS: dict[str, str] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
)


def multi30k_descriptions(language: str = "de") -> list[str]:
    """Five descriptions of each training image, written in one language.

    They are task 2 of Multi30k, no translations of its captions, and
    downloaded where they are absent. Those that stand in the English or the
    German captions, of training, validation or a test, are left out; case,
    spaces and punctuation do not count. UserError for another language.
    """
    sums = of_languages(DESCRIPTION_SUMS, [language])
    if not sums:
        raise UserError(
            f"Multi30k has no descriptions in {language!r:.40}; choose en or "
            "de"
        )
    corpus = multi30k("en", "de")
    captions = [corpus.train, corpus.valid, *corpus.tests.values()]
    known = {letters(x) for text in captions for pair in text for x in pair}
    paths = fetch(DESCRIPTIONS_URL, sums, "descriptions")
    lines = [line for path in paths for line in read_lines(path)]
    return [line for line in lines if letters(line) not in known]


def letters(text: str) -> str:
    """The letters and digits of a text, without regard to case."""
    text = unicodedata.normalize("NFKC", text).casefold()
    return "".join(filter(str.isalnum, text))
