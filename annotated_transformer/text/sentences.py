"""Lines of text as sentences, for models that learned single ones.

English, German and French are cut by a rule of our own, which the book's pages
have as well (book/in_page/sentences.js). Where it is not clear whether a
sentence ends, it cuts: half a sentence is translated oddly, but of two that
are read as one, a model leaves out the second.
"""

import re
from collections.abc import Iterable, Iterator

from ..data import well_formed

# A sentence ends with these marks, with what closes after them, emoji, and a
# blank; or, if that was forgotten, between a small letter and a word.
CLOSER = r"""["'”’“»«›)\]]"""
EMOJI = "[\u2600-\u27bf\ufe0f\u200d\U0001f000-\U0001faff]"
END = re.compile(
    r"(?<![.!?…])(?<![.!?…] )"
    rf"([.!?…](?: ?[.!?…])*(?: ?{CLOSER})*)(?: ?{EMOJI})* "
    r"|(?<=[a-zß-öø-ÿ])[.!?](?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])"
)
OPENERS = "\"'“”„‘‚«»‹›(["
# A full stop ends none after a short number, as in "am 3. Mai", nor after
# letters, as in "M. Dupont", "e.g." and "Ph.D.", nor after one of these.
SHORT = r"\d{1,2}|\w"
DOTTED = r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,3}"
ABBREVIATIONS = {
    "en": "adm al approx apr aug ave blvd bros ca capt cf co col corp dec "
    "dept dr eg est etc feb ft gen gov hon ie inc jan jr lb lt ltd maj "
    "messrs mr mrs ms mt nov oct oz pp pres prof rep rev sen sept sgt sr st "
    "univ viz vs",
    "de": "abb abs allg apr aug bd bspw bzgl bzw ca chr co dez dipl dr etc "
    "ev evtl exkl feb fr geb gegr gest ggf hl hr hrn ing inkl jh jr kath "
    "med mio mr mrd mrs nov nr okt phil prof sept sog st str tel tlw usf "
    "usw vgl vs zt zzgl",
    "fr": "apr av cf dr env etc ex févr hab janv jr juill ltd mgr mlle "
    "mlles mm mme mmes mr nov oct pp pr prof réf sept st ste tél",
}
# before a number
NUMBERED = ["art", "ch", "fig", "max", "min", "no", "nos", "sec", "vol"]
ENDING = ["a.m", "etc", "ft", "lb", "oz", "p.m", "usf", "usw"]  # in both ways


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text in that language; [text] if it is only one.

    With "" for the language, and of a blank text, it is [text] as well.
    """
    if not language or not text.strip():
        return [text]
    # plain blanks: sentencex stumbles over a no-break one before a full stop
    line = " ".join(well_formed(text).split())
    if language in ABBREVIATIONS:
        found = [*cut(line, ABBREVIATIONS[language].split())]
    else:
        # here, because only some models need it
        from sentencex import segment

        found = []
        for part in segment(language, line):
            if found and re.search(rf"(?<!\S)({SHORT})\.$", found[-1].strip()):
                part = found.pop() + part
            found.append(part)
        found = [*map(str.strip, found)]
    return found if len(found) > 1 else [text]


def cut(line: str, abbreviations: Iterable[str]) -> Iterator[str]:
    """The sentences of a line with single blanks; each has a letter."""
    last = max((i for i, x in enumerate(line) if x.isalnum()), default=-1)
    start = before = 0
    letters = False  # since the last end
    for found in END.finditer(line, 0, last + 1):
        at, end = found.span()
        letters |= any(map(str.isalnum, line[before:at]))
        before, mark, after = end, found[1] or found[0], line[end]
        word = line[max(start, at - 20) : at].split(" ")[-1].lstrip(OPENERS)
        stays = mark == "." and abbreviated(word, after, abbreviations)
        if mark not in {*".!?"} and after.islower():
            stays = True  # "Wait ... what?", and what is said after a quote
        if letters and not stays:
            yield line[start:end].strip()
            start, letters = end, False
    yield line[start:]


def abbreviated(word: str, after: str, known: Iterable[str]) -> bool:
    """True if the full stop behind a word does not end its sentence."""
    small = word.lower()
    if small in ENDING and after.isupper():
        return False
    if small in known or (small in NUMBERED and after.isdecimal()):
        return True
    return re.fullmatch(f"{SHORT}|{DOTTED}", word) is not None


def single_sentences(texts: Iterable[str], language: str) -> float:
    """The share of texts that are one sentence each; 0 if there are none."""
    counts = [len(sentences(text, language)) for text in texts]
    return counts.count(1) / max(1, len(counts))
