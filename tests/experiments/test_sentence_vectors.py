"""Sentence vectors and maps, against plain loops and made spaces."""

import math
from collections import Counter

import pytest
import torch

from experiments import sentence_vectors
from experiments.sentence_vectors import (
    MAPS,
    RIDGE,
    SIF,
    TESTS,
    Side,
    evened,
    found,
    states,
    translator,
)
from ledger.records import read_run

LINES = {
    "en": ["A dog runs.", "A man and a woman and a dog sit in the snow."],
    "de": ["Ein Hund rennt.", "Zwei Hunde sitzen mit dem Mann im Schnee."],
}


@pytest.fixture
def lines(monkeypatch):
    """Two sentences of ours stand for every text."""
    made = [sentence_vectors.weighting, sentence_vectors.means]
    made += [sentence_vectors.bags]
    for function in made:
        function.cache_clear()
    monkeypatch.setattr(
        sentence_vectors, "lines", lambda text, seed, language: LINES[language]
    )
    yield
    for function in made:
        function.cache_clear()


@pytest.mark.parametrize("kind", ["mean", "idf", "sif"])
@pytest.mark.parametrize("side", [Side("en", "en"), Side("de", "en")])
def test_means_are_those_of_each_sentence_alone(lines, kind, side):
    rows = sentence_vectors.ids_of(LINES[side.language])
    every = Counter(token for row in rows for token in row)
    texts = Counter(token for row in rows for token in {*row})
    weights = {
        "mean": lambda token: 1.0,
        "idf": lambda token: math.log(3 / (1 + texts[token])),
        "sif": lambda token: SIF / (SIF + every[token] / every.total()),
    }
    ours = sentence_vectors.means(side, "pairs", 0, kind)
    assert ours.shape == (2, 6, 128)
    for i, row in enumerate(rows):
        each = torch.tensor([weights[kind](token) for token in row])
        layers = states(side.reader, torch.tensor([row]))
        for j, x in enumerate(layers):
            expected = sum(w * v for w, v in zip(each, x[0], strict=True))
            torch.testing.assert_close(
                ours[i, j], expected / each.sum(), rtol=1e-4, atol=1e-5
            )


def test_the_last_states_are_what_the_encoder_gives():
    ids = torch.tensor([[5, 17, 300, 2], [9, 2, 0, 0]])
    model = translator("multi30k-en-de").model
    with torch.no_grad():
        torch.testing.assert_close(states("en", ids)[-1], model.encode(ids))


def test_bags_count_no_subword_twice(lines):
    side = Side("en", "counts")
    ours = sentence_vectors.bags(side, "pairs", 0, "idf").to_dense()
    weight = sentence_vectors.weighting(0, "en", "idf")
    for row, ids in zip(
        ours, sentence_vectors.ids_of(LINES["en"]), strict=True
    ):
        expected = torch.zeros(len(weight))
        expected[[*{*ids}]] = weight[[*{*ids}]]
        expected = expected / expected.norm()
        torch.testing.assert_close(row.float(), expected)


def spaces(kind, size=12, count=4000):
    """Two spaces of the same sentences; the second is made from the first."""
    torch.manual_seed(3)
    x = torch.randn(count + 200, size).double()
    turn = torch.linalg.qr(torch.randn(size, size).double()).Q
    mixed = torch.randn(size, size).double()
    y = {"turned": x @ turn + 5, "mixed": x @ mixed - 2}.get(kind)
    if kind == "loud":  # in half of the directions, and these do not agree
        x[:, ::2] *= 5
        y = x @ turn
        y = y + 8 * torch.randn(len(x), size // 2).double() @ turn[::2]
    return x[:count], y[:count], x[count:], y[count:]


def hits(by, kind):
    """The share that a map finds in one of the spaces."""
    x, y, q, k = spaces(kind)
    to_x, to_y = MAPS[by](x, y)
    return found(to_x(q), to_y(k)).double().mean().item()


def test_maps_find_what_they_can():
    for by in ("rotation", "least_squares", "turned", "correlations"):
        assert hits(by, "turned") == 1
    for by in ("least_squares", "turned", "correlations"):
        assert hits(by, "mixed") > 0.9
    assert hits("centred", "turned") < 0.1
    assert hits("correlations", "loud") > 0.3 + hits("rotation", "loud")


def test_whitened_vectors_vary_alike():
    torch.manual_seed(1)
    x = torch.randn(500, 6).double() @ torch.randn(6, 6).double() + 3
    middle = x - x.mean(0)
    variances = torch.linalg.svdvals(middle) ** 2
    left = variances / (variances + RIDGE * variances.mean())
    after = torch.linalg.svdvals(middle @ evened(x)) ** 2
    torch.testing.assert_close(after, left)
    assert left[0] > 0.99


def test_the_nearest_is_found_as_a_loop_finds_it():
    torch.manual_seed(0)
    queries, keys = torch.randn(2, 30, 5).double()
    keys = keys + queries
    expected = []
    for i, query in enumerate(queries):
        cosines = [
            torch.cosine_similarity(query, key, dim=0).item() for key in keys
        ]
        expected.append(cosines.index(max(cosines)) == i)
    assert found(queries, keys).tolist() == expected
    assert 5 < sum(expected) < 30


def test_the_record_agrees_with_itself():
    results = read_run("sentence_vectors")["results"]
    for key, one in results.items():
        both = sum(one[test] for test in TESTS) / len(TESTS)
        drawn = sum(one["accuracy"]) / len(one["accuracy"])
        assert drawn == pytest.approx(both, abs=0.02), key
    for sides in ("one encoder", "two encoders"):
        shares = [
            results[f"{sides}, correlations{pairs} seed=0"][TESTS[0]]
            for pairs in (", pairs=200", ", pairs=1000", "")
        ]
        assert shares == sorted(shares)
