"""Exercises of the lab on parsing: which strings are trees, and a score."""

from annotated_transformer.teaching.exercises.judge import Exercise

Bracket = tuple[str, int, int]


def nested(text: str, labels: bool = True, empty: bool = False) -> bool:
    """Whether every bracket has its partner, and all stands inside of one."""
    stack: list[str] = []
    before = ""
    for place, token in enumerate(tokens := text.split()):
        if token.startswith("("):
            if place and not stack:
                return False  # a second tree beside the first
            stack.append(token[1:])
        elif token.startswith(")"):
            if not stack or (stack.pop() != token[1:] and labels):
                return False
            if before.startswith("(") and not empty:
                return False
        elif not stack:
            return False
        before = token
    return bool(tokens) and not stack


def well_formed(texts: list[str], n: int) -> list[bool]:
    """Which strings are one tree over n words."""
    return [nested(text) and text.split().count("XX") == n for text in texts]


def counted(texts: list[str], n: int) -> list[bool]:
    """As many brackets close as open, whichever they are."""
    return [
        text.count("(") == text.count(")") and text.split().count("XX") == n
        for text in texts
    ]


def by_label(texts: list[str], n: int) -> list[bool]:
    """As many brackets of each label close as open, in any order."""
    found = []
    for text in texts:
        tokens = text.split()
        opened = sorted(token[1:] for token in tokens if token[0] == "(")
        closed = sorted(token[1:] for token in tokens if token[0] == ")")
        found.append(opened == closed and tokens.count("XX") == n)
    return found


def side_by_side(texts: list[str], n: int) -> list[bool]:
    """Trees beside each other are taken for one."""
    return [
        nested(f"(all {text} )all") and text.split().count("XX") == n
        for text in texts
    ]


def strings() -> list[tuple[list[str], int]]:
    """A right string for each number of words, and ways to be wrong."""
    return [
        (
            [
                "(S (NP XX )NP XX )S",
                "(S (NP XX XX )S )NP",
                "(S (NP XX )NP XX",
                "(S XX )S (S XX )S",
                "(S (NP )NP XX XX )S",
                "(S )NP XX XX (NP )S",
                "(S (NP XX XX )VP )S",
                "(S XX )S XX",
                "(S XX XX XX )S",
            ],
            2,
        ),
        (["(S XX XX XX )S", "(S (NP XX )NP XX )S", ")S XX XX XX (S"], 3),
        (["(S XX )S", "XX", "(S (S XX )S )S", "(S (NP XX )S )NP"], 1),
    ]


def shared(found: list[Bracket], gold: list[Bracket]) -> int:
    """How many brackets both have, each as often as in both."""
    return sum(min(found.count(b), gold.count(b)) for b in {*found})


def bracket_f1(found: list[Bracket], gold: list[Bracket]) -> float:
    """The harmonic mean of precision and recall."""
    return 2 * shared(found, gold) / (len(found) + len(gold))


def without_labels(brackets: list[Bracket]) -> list[Bracket]:
    """The words of the brackets only."""
    return [("", first, end) for _, first, end in brackets]


def bracketings() -> list[tuple[list[Bracket], list[Bracket]]]:
    """Some right, one twice; one label wrong; more found than there are."""
    gold = [("S", 0, 5), ("NP", 0, 2), ("VP", 2, 5), ("NP", 3, 5)]
    return [
        ([("S", 0, 5), ("NP", 0, 2), ("VP", 2, 5)], gold),
        (
            [("S", 0, 5), ("NP", 0, 2), ("NP", 0, 2), ("PP", 2, 5)],
            [*gold, ("NP", 0, 2), ("NP", 0, 2)],
        ),
        ([("NP", 0, 2)] * 3 + [("S", 0, 5)], gold),
    ]


EXERCISES = [
    Exercise(
        "well-formed",
        "parsing",
        "write f(texts, n): for each string, whether it is one tree over n "
        "words; a list of booleans.",
        "strings over one, two and three words",
        strings,
        well_formed,
        {
            "The number of words is not looked at.": (
                lambda texts, n: [nested(text) for text in texts]
            ),
            "Brackets are counted. They also have to be nested, each with its "
            "own partner.": counted,
            "Brackets are counted by label. They also have to be nested.": (
                by_label
            ),
            "A bracket is closed by one with another label.": (
                lambda texts, n: [
                    nested(text, labels=False)
                    and text.split().count("XX") == n
                    for text in texts
                ]
            ),
            "Two trees beside each other, or words outside of one, are not a "
            "tree.": side_by_side,
            "A phrase without words is let through.": lambda texts, n: [
                nested(text, empty=True) and text.split().count("XX") == n
                for text in texts
            ],
        },
    ),
    Exercise(
        "bracket-f1",
        "parsing",
        "write f(found, gold), the F1 of two lists of brackets (label, first "
        "word, word after the last), in which a bracket may occur twice.",
        "brackets missed, wrong ones, and one that occurs too often",
        bracketings,
        bracket_f1,
        {
            "This is the precision.": (
                lambda found, gold: shared(found, gold) / len(found)
            ),
            "This is the recall.": (
                lambda found, gold: shared(found, gold) / len(gold)
            ),
            "This is the plain mean of precision and recall. Ours is the "
            "harmonic one.": lambda found, gold: (
                shared(found, gold) * (1 / len(found) + 1 / len(gold)) / 2
            ),
            "Brackets are counted as sets. One that occurs twice must be "
            "found twice.": lambda found, gold: bracket_f1(
                [*{*found}], [*{*gold}]
            ),
            "Each bracket found that occurs in the reference counts, however "
            "often it was found.": lambda found, gold: (
                2 * sum(b in gold for b in found) / (len(found) + len(gold))
            ),
            "The labels are left out.": lambda found, gold: bracket_f1(
                without_labels(found), without_labels(gold)
            ),
            "This is the share of the brackets that both have among those "
            "that one has.": lambda found, gold: (
                shared(found, gold)
                / (len(found) + len(gold) - shared(found, gold))
            ),
        },
    ),
]
