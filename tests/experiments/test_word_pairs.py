"""Words and noun phrases of pairs, against links by hand."""

from experiments.shared.word_pairs import dictionary, noun_phrases

PAIRS = [
    ("A red bench stands here.", "Eine rote Bank steht hier."),
    ("The bench is red.", "Die Bank ist rot."),
    ("A man on a bench.", "Ein Mann auf einer Bank."),
    ("A bench and a red bench.", "Eine Bank und eine rote Sitzbank."),
]
LINKS = [
    [(i, i) for i in range(5)],
    [(i, i) for i in range(4)],
    [(i, i) for i in range(5)],
    [(0, 0), (1, 1), (2, 2), (3, 3), (5, 4), (5, 5)],  # two words of one
]


def test_words_that_are_linked_three_times_are_translations():
    found = dictionary(PAIRS, LINKS)
    assert found == {"bench": {"Bank": 4}}
    twice = dictionary([*PAIRS, *PAIRS], [*LINKS, *LINKS])
    assert twice["bench"] == {"Bank": 8} and "on" not in twice


def test_subjects_are_the_shortest_beginnings_that_stand_alone():
    found = noun_phrases(PAIRS, LINKS)
    assert found == {
        ("A red", "Eine rote"): 1,
        ("The bench", "Die Bank"): 1,
        ("A man", "Ein Mann"): 1,
        ("A bench", "Eine Bank"): 1,
    }
    crossed = [[(1, 0), (0, 1), (2, 2), (3, 3)]]
    assert noun_phrases(PAIRS[1:2], crossed) == {("The bench", "Die Bank"): 1}
    outside = [[(0, 0), (1, 1), (0, 2), (3, 3)]]
    assert noun_phrases(PAIRS[1:2], outside) == {
        ("The bench", "Die Bank ist"): 1
    }
