"""Minimum risk, against plain loops, autograd and the search itself."""

import copy
import math
import operator
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu import sentence_bleu
from without_blanks import ONE_OF_EACH, SENTENCES

from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import make_batch, train_tokenizer
from annotated_transformer.decoding import beam_decode
from annotated_transformer.embedding import BOS, EOS, PAD
from annotated_transformer.model import ModelConfig, length_limit, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.risk import (
    ExpectedError,
    Preferences,
    preference_loss,
    risk,
)
from annotated_transformer.runs.objectives import objective_of
from annotated_transformer.runs.recipes import LabConfig
from annotated_transformer.training import TrainConfig, updates

CONFIG = TrainConfig(
    steps=6,
    batch_tokens=120,
    schedule="linear",
    warmup=2,
    peak_lr=1e-2,
    checkpoint_every=2,
    average=1,
)
# what is untrained writes to the end of its positions
SIZES = ModelConfig(
    layers=1,
    d_model=16,
    d_ff=32,
    heads=2,
    dropout=0.1,
    positions="learned",
    max_length=40,
)


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=200, valid=20, test=1)


@pytest.fixture(scope="module")
def tokenizer(corpus):
    return train_tokenizer((s for pair in corpus.train for s in pair), 300)


def fresh(tokenizer, **sizes):
    torch.manual_seed(0)
    return transformer(replace(SIZES, vocab_size=len(tokenizer), **sizes))


def batch_of(corpus, tokenizer, number=3):
    pairs = corpus.train[:number]
    return make_batch([tuple(map(tokenizer.encode, pair)) for pair in pairs])


numbers = st.floats(-20, 20)


@given(
    st.lists(st.tuples(numbers, st.floats(0, 1)), min_size=1, max_size=6),
    st.floats(-50, 0),
)
def test_risk_is_an_expectation(candidates, likely):
    """A plain sum; adding to all log-probabilities changes nothing."""
    powers = [math.exp(log_p) for log_p, _ in candidates]
    wanted = sum(
        power * error
        for power, (_, error) in zip(powers, candidates, strict=True)
    ) / sum(powers)
    log_p, errors = torch.tensor(candidates, dtype=torch.double).T
    assert risk(log_p, errors).item() == pytest.approx(wanted, abs=1e-9)
    assert risk(log_p + likely, errors).item() == pytest.approx(
        wanted, abs=1e-9
    )


def test_error_is_that_of_sacrebleu(tokenizer, corpus):
    objective = ExpectedError(tokenizer, 4)
    for (_, one), (_, other) in zip(
        corpus.train[:20], corpus.train[1:21], strict=True
    ):
        found = objective.error(tokenizer.encode(one), tokenizer.encode(other))
        score = sentence_bleu(one, [other], lowercase=True).score
        assert found == pytest.approx(1 - score / 100)
        same = tokenizer.encode(one)
        assert objective.error(same, same) == 0
    assert objective.error([EOS], same) == 1


def test_errors_differ_without_blanks():
    """However they are cut, and in all that learns from errors."""
    lines = [line for text in SENTENCES.values() for line in text]
    pieces = train_tokenizer(lines * 4, 120, "char")
    model = fresh(pieces)
    for language, cut, (one, other, _) in ONE_OF_EACH:
        right, wrong = pieces.encode(one), pieces.encode(other)
        half = pieces.encode(one[: len(one) // 2] + other[len(other) // 2 :])
        texts = map(pieces.decode, (half, right))
        score = sentence_bleu(next(texts), [next(texts)], tokenize=cut).score
        for objective in (
            ExpectedError(pieces, 2, language),
            Preferences(pieces, 2, model, language=language),
            objective_of(LabConfig(risk=2), pieces, language),
        ):
            assert objective.error(right, right) == pytest.approx(0)
            found = objective.error(half, right)
            assert found == pytest.approx(1 - score / 100)
            assert 0 < found < objective.error(wrong, right)


def made_up(output, reference):
    """An error for tokens that mean nothing, as an untrained model's do."""
    return (sum(output) + sum(reference)) % 11 / 10


def test_candidates_end_where_positions_end(tokenizer, corpus):
    """An untrained model writes until the limit; then there is no EOS."""
    batch = batch_of(corpus, tokenizer)
    most = batch.source.size(1)
    model = fresh(tokenizer, max_length=most)
    objective = ExpectedError(tokenizer, 4)
    rows, _ = objective.candidates(model, batch)
    assert rows.size(1) == most and (rows[:, -1] != PAD).any()
    assert objective(model, batch, CONFIG).isfinite()


def test_candidates_may_be_as_long_as_translations(tokenizer, corpus):
    """What was cut does not end: no EOS is learned where none was written."""
    batch = batch_of(corpus, tokenizer)
    model = fresh(tokenizer, positions="sinusoidal")
    model.output.weight.data[EOS] = -50.0  # never
    for stretch in (1.0, 2.25):
        rows, _ = ExpectedError(tokenizer, 2, "", stretch).candidates(
            model, batch
        )
        limits = length_limit(batch.source, stretch=stretch)
        assert (rows != PAD).sum(1).tolist() == [
            x for x in limits for _ in "ab"
        ]
        assert EOS not in rows


def test_objective_is_that_of_a_plain_loop(tokenizer, corpus):
    """Each candidate alone, with no padding, and an error made up for it."""
    model = fresh(tokenizer, dropout=0.0).double()
    objective = ExpectedError(tokenizer, 4)
    objective.error = made_up
    batch, total = batch_of(corpus, tokenizer), 0.0
    found = beam_decode(model.eval(), batch.source, 4, number=4)
    for source, reference, beam in zip(
        batch.source, batch.labels, found, strict=True
    ):
        source = source[source != PAD][None]
        beliefs, errors = [], []
        for best in beam:
            labels = torch.tensor([*best.tokens, *[EOS] * best.finished])
            inputs = torch.tensor([[BOS, *best.tokens]])[:, : len(labels)]
            log_p = model(source, inputs).log_softmax(-1)[0]
            steps = [p[i] for p, i in zip(log_p, labels, strict=True)]
            beliefs.append(sum(steps).item())
            errors.append(made_up(best.tokens, reference.tolist()))
        beliefs = [math.exp(one - max(beliefs)) for one in beliefs]
        expected = sum(map(operator.mul, beliefs, errors)) / sum(beliefs)
        total += expected * (reference != PAD).sum()
    loss = objective(model, batch, CONFIG)
    assert loss.item() == pytest.approx(total.item(), rel=1e-4)


def test_it_makes_the_expected_error_smaller(tokenizer, corpus):
    """And only the risk moves it: with equal errors nothing is learned."""
    model = fresh(tokenizer, dropout=0.0)
    batch = batch_of(corpus, tokenizer, 8)
    objective = ExpectedError(tokenizer, 4)
    objective.error = made_up
    labels, errors = objective.candidates(model, batch)

    def fixed(*_):
        return labels, errors

    objective.candidates = fixed
    config = replace(CONFIG, steps=20)
    losses = [
        update.loss.item()
        for update in updates(
            model,
            iter([batch] * 20),
            adam(model.parameters()),
            config,
            SIZES.d_model,
            objective=objective,
        )
    ]
    best = (errors.amin(1) * batch.where.sum(1)).sum() / batch.tokens
    assert losses[0] - best > 3 * (losses[-1] - best) > -1e-6

    def pull():
        model.zero_grad()
        objective(model, batch, config).backward()
        return sum(p.grad.square().sum() for p in model.parameters()) ** 0.5

    strong = pull()
    errors.fill_(0.5)
    assert pull() < 1e-3 * strong


def test_log_probabilities_survive_bfloat16(tokenizer, corpus):
    """The mean over candidates is taken in float32 either way."""
    model = fresh(tokenizer, dropout=0.0)
    objective = ExpectedError(tokenizer, 4)
    batch = batch_of(corpus, tokenizer)
    exact = objective(model, batch, CONFIG)
    rounded = objective(model, batch, replace(CONFIG, bf16=True))
    assert rounded.dtype == torch.float32
    assert rounded.item() == pytest.approx(exact.item(), rel=0.02)


def test_a_preference_is_the_log_odds_of_a_plain_formula():
    """Rows are pairs: what is preferred, and what is not."""
    log_p = torch.randn(5, 2, dtype=torch.double) * 4
    first = torch.randn(5, 2, dtype=torch.double) * 4
    for row, before, found in zip(
        log_p.tolist(),
        first.tolist(),
        preference_loss(log_p, first, 0.3),
        strict=True,
    ):
        better, worse = (
            math.exp(0.3 * (p - q)) for p, q in zip(row, before, strict=True)
        )
        wanted = -math.log(better / (better + worse))
        assert found.item() == pytest.approx(wanted)


def test_no_objective_changes_a_mode(tokenizer, corpus, monkeypatch):
    """Nor does a search that fails."""
    first, model = fresh(tokenizer), fresh(tokenizer)
    batch = batch_of(corpus, tokenizer)
    objective = Preferences(tokenizer, 2, first)
    for training in (True, False):
        first.train(training)
        model.train(not training)
        objective(model, batch, CONFIG)
        ExpectedError(tokenizer, 2)(model, batch, CONFIG)
        with monkeypatch.context() as patch, pytest.raises(TypeError):
            patch.setattr("annotated_transformer.risk.beam_decode", None)
            objective.candidates(first, batch)
        assert {part.training for part in first.modules()} == {training}
        assert {part.training for part in model.modules()} == {not training}


def test_what_is_preferred_becomes_likelier(tokenizer, corpus):
    """The best of a list to the worst; the first model stays as it was."""
    model = fresh(tokenizer, dropout=0.0)
    batch = batch_of(corpus, tokenizer, 8)
    before = copy.deepcopy(model)
    objective = Preferences(tokenizer, 4, copy.deepcopy(model), beta=0.5)
    objective.error = made_up
    with torch.no_grad():
        loss = objective(model, batch, CONFIG) / batch.tokens
    assert loss.item() == pytest.approx(math.log(2), rel=1e-4)
    labels, errors = objective.candidates(before, batch)
    assert (errors.amax(1) > errors.amin(1)).any()

    def margins(of):
        """By how much each best translation is likelier than the worst."""
        with torch.no_grad():
            log_p = objective.log_p(of.eval(), batch, labels, CONFIG)
        log_p = log_p.view_as(errors)
        best, worst = errors.argmin(1), errors.argmax(1)
        places = range(len(errors))
        return log_p[places, best] - log_p[places, worst]

    for _ in updates(
        model,
        iter([batch] * 6),
        adam(model.parameters()),
        CONFIG,
        SIZES.d_model,
        objective=objective,
    ):
        pass
    gain = margins(model) - margins(before)
    differ = errors.amax(1) > errors.amin(1)
    assert gain[differ].mean() > 1  # though sentences pull at each other
    for one, other in zip(
        objective.first.parameters(), before.parameters(), strict=True
    ):
        assert one.equal(other)
