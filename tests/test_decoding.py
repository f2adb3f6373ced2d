"""Decoding, against exhaustive search, greedy decoding and re-scoring."""

import itertools
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from operations import counted
from torch_twins import lively, rescored

from annotated_transformer.decoding import (
    Beam,
    beam_decode,
    beam_search,
    best_continuations,
    first_state,
    forbidden,
    length_penalty,
    model_step,
    repeating,
)
from annotated_transformer.embedding import BOS, EOS, PAD
from annotated_transformer.errors import UserError
from annotated_transformer.model import (
    ModelConfig,
    transformer,
)
from annotated_transformer.runs.recipes import RECIPES

VOCAB = 5


class Rows:
    """A state that only remembers which sentence a row belongs to."""

    def __init__(self, sentence):
        self.sentence = sentence

    def select(self, rows, sentences):
        return Rows(self.sentence[rows])


def random_table(seed, sentences=1, vocab=VOCAB):
    """Log-probabilities [sentences token next_token] of Markov chains."""
    random = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(sentences, vocab, vocab, generator=random)
    return scores.log_softmax(-1)


def table_search(table, limit, width, alpha, *options):
    def step(tokens, state):
        return table[state.sentence, tokens], state

    sentences, limits = (
        torch.arange(len(table)),
        torch.full((len(table),), limit),
    )
    return beam_search(step, Rows(sentences), limits, width, alpha, *options)


def every_output(limit, vocab=VOCAB):
    """All outputs: those that end with EOS, and those cut at the limit."""
    others = [token for token in range(vocab) if token != EOS]
    for length in range(1, limit + 1):
        for start in itertools.product(others, repeat=length - 1):
            yield (*start, EOS)
    yield from itertools.product(others, repeat=limit)


def log_probability(table, output):
    return sum(
        table[before, after].item()
        for before, after in zip((BOS, *output), output, strict=False)
    )


@given(
    places=st.integers(1, 5),
    vocab=st.sampled_from([1, 3, 63, 64, 96, 128, 500, 640]),
    width=st.integers(1, 70),
    closed=st.integers(0, 3),
    seed=st.integers(0, 9),
)
def test_best_continuations_are_the_best(places, vocab, width, closed, seed):
    torch.manual_seed(seed)
    live = torch.randn(3, places)
    live[torch.randperm(3)[:closed], 0] = -torch.inf  # a closed place
    log_p = torch.randn(3 * places, vocab).log_softmax(-1)
    scores, row, token = best_continuations(live, log_p, width)
    total = live[:, :, None] + log_p.view(3, places, vocab)
    every = total.flatten(1).sort(descending=True).values
    assert torch.equal(scores, every[:, :width])
    sentence = torch.arange(3)[:, None].expand_as(row)
    assert torch.equal(scores, total[sentence, row, token])
    both = (row * vocab + token).tolist()
    assert all(len(set(one)) == len(one) for one in both)


@given(
    rows=st.integers(1, 5).flatmap(
        lambda length: st.lists(
            st.lists(st.integers(3, 5), min_size=length, max_size=length),
            min_size=1,
            max_size=4,
        )
    ),
    n=st.integers(1, 4),
)
def test_repeating_tokens_are_those_that_a_loop_finds(rows, n):
    rows = [[BOS] * 3 + row for row in rows]  # never shorter than n
    expected = {
        (i, token)
        for i, row in enumerate(rows)
        for token in range(6)
        if says_twice([*row, token], n) > says_twice(row, n)
    }
    tokens, again = repeating(torch.tensor(rows), n)
    found = {(i, tokens[i, j].item()) for i, j in again.nonzero().tolist()}
    assert found == expected


def says_twice(tokens, n):
    """How many runs of n tokens have stood there before."""
    runs = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return len(runs) - len({*runs})


@given(
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    st.sampled_from([(3, 0), (3, 1), (4, 2), (3, 9)]),
)
def test_a_beam_as_wide_as_the_tree_is_exhaustive_search(seed, alpha, sizes):
    table, (limit, n) = random_table(seed), sizes
    ranked = sorted(
        (
            -log_probability(table[0], out) / length_penalty(len(out), alpha),
            out,
        )
        for out in every_output(limit)
        if n == 0 or not says_twice((BOS, *out), n)
    )
    found = table_search(table, limit, VOCAB**limit, alpha, 3, n)[0]
    assert [-h.score for h in found] == pytest.approx(
        [score for score, _ in ranked[:3]], abs=1e-4
    )
    outputs = {out: -score for score, out in ranked}
    for hypothesis in found:  # ties may be broken either way
        output = tuple(hypothesis.tokens) + hypothesis.finished * (EOS,)
        assert hypothesis.score == pytest.approx(outputs[output], abs=1e-4)
        assert hypothesis.finished or len(output) == limit


# What a rule allows: here it depends on all that has been written


def obeys(output, seed):
    """Whether no token of an output is one that a rule of this seed bars."""
    return all(
        hash((*output[:i], seed)) % 3 != token % 3
        for i, token in enumerate(output)
    )


def drawn_rule(seed):
    """The rule, in the words of a search."""

    def rule(tokens, scores):
        rows = [
            [obeys((*row[1:], token), seed) for token in range(VOCAB)]
            for row in tokens.flatten(0, 1).tolist()
        ]
        return torch.tensor(rows).view_as(scores)

    return rule


@given(
    st.integers(0, 10_000),
    st.sampled_from([0.0, 0.6, 2.0]),
    st.sampled_from([(3, 0), (4, 2)]),
)
def test_a_rule_leaves_the_best_of_what_it_allows(seed, alpha, sizes):
    table, (limit, n) = random_table(seed), sizes
    ranked = sorted(
        -log_probability(table[0], out) / length_penalty(len(out), alpha)
        for out in every_output(limit)
        if obeys(out, seed) and (n == 0 or not says_twice((BOS, *out), n))
    )
    options = VOCAB**limit, alpha, 3, n, drawn_rule(seed)
    if not ranked:
        with pytest.raises(UserError, match="every continuation is forbidden"):
            table_search(table, limit, *options)
        return
    found = table_search(table, limit, *options)[0]
    assert [-h.score for h in found] == pytest.approx(ranked[:3], abs=1e-4)
    for h in found:
        assert obeys((*h.tokens, EOS) if h.finished else h.tokens, seed)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_rules_are_alike_alone_and_in_a_batch(seed, width):
    table = random_table(seed, sentences=4)

    def rule(tokens, scores):  # EOS is allowed from the third token on
        allowed = torch.ones(VOCAB, dtype=torch.bool)
        allowed[EOS] = tokens.size(2) > 2
        return allowed

    together = table_search(table, 6, width, 0.6, width, 0, rule)
    for i, found in enumerate(together):
        alone = table_search(table[i : i + 1], 6, width, 0.6, width, 0, rule)
        assert found == alone[0]
        assert all(len(h.tokens) >= 2 for h in found)


def test_a_rule_that_allows_all_changes_nothing_and_sees_all():
    table, seen = random_table(0, sentences=3), []

    def rule(tokens, scores):
        for row, total in zip(
            tokens.flatten(0, 1).tolist(), scores.flatten(0, 1), strict=True
        ):
            if row[1:] and total.max() > -torch.inf:
                seen.append((row, total))
        return torch.ones((), dtype=torch.bool)

    plain = table_search(table, 5, 3, 0.6, 3)
    assert table_search(table, 5, 3, 0.6, 3, 0, rule) == plain
    assert len(seen) > 20
    for row, total in seen:  # of one of the three sentences
        wholes = [
            [log_probability(one, (*row[1:], x)) for x in range(VOCAB)]
            for one in table
        ]
        assert row[0] == BOS
        assert any(
            total.tolist() == pytest.approx(whole, abs=1e-4)
            for whole in wholes
        )


def test_what_is_no_answer_of_a_rule_is_refused():
    tokens, scores = torch.zeros(2, 3, 4).long(), torch.zeros(2, 3, VOCAB)
    with pytest.raises(ValueError, match="True or False.* torch.float32"):
        forbidden(lambda tokens, scores: scores, tokens, scores)
    with pytest.raises(ValueError, match="True or False.* returned int"):
        forbidden(lambda *_: 3, tokens, scores)
    with pytest.raises(RuntimeError, match="size"):
        forbidden(lambda *_: torch.ones(3, 2).bool(), tokens, scores)
    row = torch.arange(VOCAB) % 2 == 0
    found = forbidden(lambda *_: row, tokens, scores)
    assert torch.equal(found, ~row.expand(2, 3, VOCAB))


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.6, 2.0]))
def test_stopping_early_never_changes_the_result(seed, alpha):
    """The bound may only save steps: compare with a search that has none."""
    table = random_table(seed)
    early = table_search(table, 7, 4, alpha)[0][0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beam, "done", lambda self, live, _: live == -torch.inf)
        late = table_search(table, 7, 4, alpha)[0][0]
    assert early == late


# The same search over the model, with its cached keys and values


def random_model(seed, vocab_size, limit, pre_norm):
    """Outputs end where learned positions end, so that a search is short."""
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size,
        layers=2,
        d_model=8,
        d_ff=12,
        heads=2,
        pre_norm=pre_norm,
        positions="learned",
        max_length=limit,
    )
    return lively(transformer(config))


orders = pytest.mark.parametrize("pre_norm", [False, True])
seeds = st.integers(0, 10_000)


@orders
@given(seeds, st.integers(1, 3), st.sampled_from([0.0, 0.6, 2.0]))
@settings(max_examples=10)
def test_the_model_searched_to_the_end(pre_norm, seed, length, alpha):
    """A beam as wide as the tree against every output, scored uncached."""
    limit = 3
    model = random_model(seed, VOCAB, limit, pre_norm)
    source = torch.randint(3, VOCAB, (1, length))
    outputs = list(every_output(limit))
    scores = [
        log_p / length_penalty(len(output), alpha)
        for log_p, output in zip(
            rescored(model, source, outputs), outputs, strict=True
        )
    ]
    found = beam_decode(model, source, VOCAB**limit, alpha, 3)[0]
    best = sorted(scores, reverse=True)[:3]
    assert [h.score for h in found] == pytest.approx(best, abs=1e-4)


def test_every_output_stops_at_its_own_limit():
    table = torch.full((1, VOCAB, VOCAB), -1.0)
    table[:, :, EOS] = -1e9

    def step(tokens, state):
        return table[0, tokens], state

    found = beam_search(step, Rows(torch.arange(2)), torch.tensor([3, 6]), 2)
    assert [len(beam[0].tokens) for beam in found] == [3, 6]


def test_more_results_than_places_is_an_error():
    model = random_model(0, 9, 6, True)
    with pytest.raises(
        ValueError, match="number=3, .*from 1 to 2; .*wider beam"
    ):
        beam_decode(model, torch.tensor([[4, 5]]), width=2, number=3)


# What a step costs a GPU


def costs(step, state, limits, *options):
    """Operations and synchronisations of every step but the last."""
    marks = []

    def marked(tokens, state):
        marks.append((seen.calls.total(), seen.waits.total()))
        return step(tokens, state)

    with torch.inference_mode(), counted() as seen:
        found = beam_search(marked, state, limits, *options)
    steps = [
        (after[0] - before[0], after[1] - before[1])
        for before, after in itertools.pairwise(marks)
    ]
    return steps, found


@pytest.fixture(scope="module")
def shipped():
    """A model of the shipped ones' shape; EOS is never among the best."""
    torch.manual_seed(0)
    sizes = replace(RECIPES["multi30k-2017"].model, vocab_size=8000)
    model = transformer(sizes).eval()
    with torch.no_grad():
        model.output.weight[EOS] = 0
    return model


def test_a_step_has_few_operations_for_any_number_of_sentences(shipped):
    found = []
    for sentences in (1, 2, 24):
        source = torch.randint(4, 8000, (sentences, 9))
        source[-1, 5:] = PAD
        with torch.inference_mode():
            state = first_state(shipped, source)
        limits = torch.full((sentences,), 8)
        steps, _ = costs(model_step(shipped), state, limits, 5, 0.6, 1, 3)
        found.append(steps)
    assert found[0] == found[1] == found[2] and len(found[0]) == 7
    assert max(operations for operations, _ in found[0]) <= 126
    assert {waits for _, waits in found[0]} == {3}


@pytest.mark.parametrize("sentences", [1, 40])
def test_hypotheses_end_without_a_wait_each(sentences):
    table = random_table(1, sentences)
    never = table.index_fill(2, torch.tensor(EOS), -1e9)
    limits = torch.full((sentences,), 9)
    ended, every = [], []
    for chances in (table, never):

        def step(tokens, state, chances=chances):
            return chances[state.sentence, tokens], state

        first = Rows(torch.arange(sentences))
        steps, found = costs(step, first, limits, 4, 0.6, 4)
        lengths = [len(h.tokens) for beam in found for h in beam]
        ended.append(sum(length < 9 for length in lengths))
        every.append({*steps})
    assert ended[0] >= sentences and ended[1] == 0
    assert every[0] == every[1]
    ((_, waits),) = every[0]  # all steps are alike
    assert waits == 3
