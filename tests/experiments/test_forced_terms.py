"""Terms that an output must have, against all outputs of tiny vocabularies."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_decoding import (
    every_output,
    log_probability,
    random_table,
    table_search,
)

from annotated_transformer.decoding import length_penalty
from annotated_transformer.embedding import BOS, EOS
from experiments.forced_terms import NOUN, Late, Required, change, has_word

NAMES = ["<pad>", "<s>", "</s>", "▁a", "▁b", "c"]  # c goes on with a word
TERMS = {"a": [3], "ab": [3, 4], "bc": [4, 5], "aab": [3, 3, 4]}


class Pieces:
    """A tokenizer of six subwords."""

    def __len__(self):
        return len(NAMES)

    def encode(self, text):
        return [*TERMS[text], EOS]

    pieces = SimpleNamespace(id_to_piece=lambda i: NAMES[i])


def searched(table, rule, width, limit):
    """The best outputs of a table of next tokens."""
    return table_search(table[None], limit, width, 0.6, width, 0, rule)[0]


def has_term(output, term):
    """Whether it has the term, which no token joins."""
    size = len(term)
    return any(
        [*output[i : i + size]] == term
        and (i + size == len(output) or output[i + size] != 5)
        for i in range(len(output) - size + 1)
    )


def allowed(output, term):
    """Whether no end comes before the term, and nothing joins it."""
    size = len(term)
    joined = any(
        [*output[i : i + size]] == term and output[i + size] == 5
        for i in range(len(output) - size)
    )
    return not joined and (output[-1] != EOS or has_term(output, term))


def score(table, output):
    return log_probability(table, output) / length_penalty(len(output), 0.6)


@given(st.integers(0, 10_000), st.sampled_from([*TERMS]))
def test_with_room_for_all_it_finds_the_best_of_all_that_have_it(seed, term):
    table, limit = random_table(seed, vocab=len(NAMES))[0], 4
    rule = Required(Pieces(), term, each=len(NAMES) ** limit)
    found = searched(table, rule, len(NAMES) ** limit, limit)
    every = every_output(limit, len(NAMES))
    outputs = (x for x in every if allowed(x, TERMS[term]))
    ranked = sorted((score(table, x) for x in outputs), reverse=True)
    assert [h.score for h in found[:3]] == pytest.approx(ranked[:3], abs=1e-4)


@given(st.integers(0, 10_000), st.sampled_from([*TERMS]), st.integers(1, 3))
@settings(max_examples=40)
def test_what_has_ended_has_the_term(seed, term, each):
    table = random_table(seed, vocab=len(NAMES))[0]
    rule = Required(Pieces(), term, each)
    assert rule.width == each * (len(TERMS[term]) + 1)
    found = searched(table, rule, rule.width, 9)
    assert found
    for h in found:
        output = (*h.tokens, EOS) if h.finished else h.tokens
        assert allowed(output, TERMS[term])


def test_a_rare_term_is_written_only_if_it_has_places():
    """*a* has a chance of one in 3,000 at every step, and the end nearly 1."""
    p = torch.full((len(NAMES), len(NAMES)), 1e-9)
    p[:, EOS], p[:, 4], p[:, 5], p[:, 3] = 0.9, 0.07, 0.03, 3e-4
    table = p.log()
    rule = Required(Pieces(), "a", each=2)
    best = searched(table, rule, rule.width, 9)[0]
    assert best.finished and best.tokens == [3]
    late = searched(table, Late(Pieces(), "a", 2), 4, 9)[0]
    assert not late.finished and 3 not in late.tokens


def test_places_are_shared_sentence_by_sentence():
    rule = Required(Pieces(), "ab", each=1)
    tokens = torch.tensor([[[BOS, 3], [BOS, 5]], [[BOS, 4], [BOS, 5]]])
    scores = torch.randn(2, 2, len(NAMES))
    both = rule(tokens, scores)
    for i in range(2):
        one = slice(i, i + 1)
        assert torch.equal(both[one], rule(tokens[one], scores[one]))
    assert both[0, 0, 4] and not both[..., EOS].any()
    assert both.sum((1, 2)).tolist() == [3, 2]  # the second has no a


def test_words_of_a_caption():
    text = "Ein Mann in rotem T-Shirt, Hut und Schal. Der Hund"
    nouns = ["Mann", "T-Shirt", "Hut", "Schal", "Hund"]
    assert NOUN.findall(text) == nouns
    assert has_word(text, "Hut") and has_word(text, "T-Shirt")
    assert not has_word(text, "Shirt") and not has_word(text, "Hun")


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("Ein Hemd.", "Ein Hemd.", "same"),
        ("Ein Hemd.", "Ein Shirt.", "replaced"),
        ("Ihr Lied ist schön.", "Ihr Lied Sohn ist schön.", "added"),
        ("Ein Hund.", "Ein Hund Tier.", "added"),
        ("Ein Teenager spielt.", "Eine Teenagerin spielt.", "rewritten"),
        ("Ein Hund rennt.", "Ein Hund.", "rewritten"),
    ],
)
def test_what_a_search_changed(before, after, kind):
    assert change(before, after) == kind
