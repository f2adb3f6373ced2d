"""Text as tokenizers read it, against Python's own Unicode data."""

import sys
import unicodedata

import pytest
from builtin_text import BPE, LINES
from hypothesis import given
from hypothesis import strategies as st
from odd_text import odd_strings

from annotated_transformer.data import train_tokenizer
from annotated_transformer.text.normalization import normalized

CHARACTERS = [
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(character) not in ("Cn", "Cs", "Co")
    and "HANGUL" not in unicodedata.name(character, "")
]
JOINERS = "\u200c\u200d"  # Persian, Hindi and emoji need them


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def special(character: str) -> bool:
    """True for what a rule makes uniform that is no accent."""
    return (
        character.isspace()
        or unicodedata.category(character) == "Cc"
        or character in "\xad\u200b\u2060\ufeff▁‘’‚‛“”„‟\u2010\u2011"
    )


COMPOSED = [x for x in CHARACTERS if nfc(x) == x != nfd(x) and not special(x)]


def test_every_character_composes_and_all_others_stay():
    """However far its accents were taken apart."""
    assert len(COMPOSED) > 900
    assert normalized(map(nfd, COMPOSED)) == COMPOSED
    rest = [x for x in CHARACTERS if not special(x)]
    found = normalized(rest)
    assert found == rest
    halfway = [nfc(nfd(x)[:-1]) + nfd(x)[-1] for x in COMPOSED]
    assert normalized(halfway) == COMPOSED


@given(st.text(st.sampled_from([*COMPOSED, *"abcdefghijklmnopqrstuvwxyz"])))
def test_decomposed_text_composes(text):
    assert normalized([nfd(text)]) == [nfc(text)] == [text]


plain = st.characters(exclude_categories=["Cs", "Cc"]).filter(
    lambda x: not special(x)
)


@given(st.text(plain))
def test_text_stays_the_same_to_unicode(text):
    assert nfc(normalized([text])[0]) == nfc(text)


def test_every_blank_is_one_plain_blank():
    blanks = [x for x in CHARACTERS if x.isspace() and not "\x1c" <= x < " "]
    assert {"\xa0", "\u2009", "\u202f", "\u3000", "\t", "\x85"} < {*blanks}
    lines = [f"{x}a{x}b{x}{x} c {x}" for x in [*blanks, "▁"]]
    assert {*normalized(lines)} == {"a b c"}


def test_what_cannot_be_seen_goes_and_joiners_stay():
    control = [x for x in CHARACTERS if unicodedata.category(x) == "Cc"]
    unseen = [x for x in control if not x.isspace() or "\x1c" <= x < " "]
    for x in [*unseen[1:], *"\xad\u200b\u2060\ufeff"]:  # NUL is no text
        assert normalized([f"a{x}b"]) == ["ab"], ascii(x)
    for x in JOINERS:
        assert normalized([f"a{x}b"]) == [f"a{x}b"]


def test_quotes_and_hyphens_are_those_of_keyboards():
    assert normalized(["‘a’ ‚b‛ “c” „d‟ e\u2010f\u2011g – —"]) == [
        "'a' 'b' \"c\" \"d\" e-f-g – —"
    ]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_a_tokenizer_reads_all_text_so_or_none(kind):
    odd = [*odd_strings(300), *LINES[:100]]
    uniform = train_tokenizer(LINES, 300, kind)
    as_it_is = train_tokenizer(LINES, 300, kind, normalize=False)
    assert uniform.vocabulary == as_it_is.vocabulary
    pairs = zip(odd, normalized(odd), strict=True)
    for text, line in pairs:
        assert uniform.encode(text) == as_it_is.encode(line)
    assert as_it_is.decode(as_it_is.encode("  a  b ")) == "  a  b "
    learned = train_tokenizer(map(nfd, LINES), 300, kind)
    assert learned.vocabulary == uniform.vocabulary


@given(st.text())
def test_what_was_decoded_once_stays(text):
    """Unknown characters, too, and the blanks around them."""
    once = BPE.decode(BPE.encode(text))
    assert BPE.decode(BPE.encode(once)) == once
