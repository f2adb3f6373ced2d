"""Sampling: against the model's own probabilities, and against greedy."""

from collections import Counter

import pytest
import torch
from chi_square import chisquare
from tiny_models import TINY

from annotated_transformer.data import pad
from annotated_transformer.decoding import beam_decode
from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.pairs.sampling import Sampling, drawn, sample_decode
from annotated_transformer.storage.builders import build

ROWS = 20_000
SOURCE = pad([[5, 9, 7, 2], [4, 2], [8, 8, 6, 5, 4, 2]])


@pytest.fixture(params=TINY)
def model(request):
    torch.manual_seed(1)
    return build(TINY[request.param]).eval()


def test_tokens_come_as_often_as_they_are_probable():
    p = (
        (2 * torch.randn(1, 12))
        .softmax(-1)
        .masked_fill(torch.eye(12)[3] > 0, 0)
    )
    sampling = Sampling(seed=3)
    numbers = [sampling.numbers(place, 1) for place in range(ROWS)]
    tokens = drawn(p.expand(ROWS, -1), torch.tensor(numbers)).flatten()
    found = tokens.bincount(minlength=12)
    possible = p[0] > 0
    assert found[~possible].sum() == 0 and possible.sum() == 11
    wanted = p[0, possible].double().numpy()
    wanted *= ROWS / wanted.sum()
    assert chisquare(found[possible].numpy(), wanted) > 1e-3


def test_the_ends_of_the_range_draw_what_can_be():
    """A token without probability is not drawn, first or last."""
    probs = torch.tensor([[0.0, 0.5, 0.5, 0]])
    for number in (0.0, 0.5, 1 - 2**-24, 1.0):  # float32 rounds up to 1
        token = int(drawn(probs, torch.tensor([[number]])))
        assert token == (1 if number < 0.5 else 2)


def test_whole_outputs_come_as_often_as_they_are_probable(model):
    """The first two tokens of many outputs, against products."""
    source = SOURCE[:1].expand(2000, -1)
    flat = Sampling(temperature=4.0, seed=5)
    outputs = sample_decode(model, source, flat, range(2000))
    found = Counter(tuple([*x.tokens, EOS][:2]) for x in outputs)
    with torch.no_grad():
        prefix = torch.arange(16)[:, None]
        inputs = torch.cat([torch.full_like(prefix, BOS), prefix], 1)
        logits = model(
            SOURCE[:1].expand(16, -1), inputs, torch.ones(16, 2).bool()
        )
        log_p = (logits.view(16, 2, 16) / 4).log_softmax(-1)
    expected = {}
    for first in range(16):
        if first == EOS:
            expected[(EOS,)] = float(log_p[first, 0, first].exp())
            continue
        for then in range(16):
            nats = log_p[first, 0, first] + log_p[first, 1, then]
            expected[(first, then)] = float(nats.exp())
    common = [x for x, p in expected.items() if 2000 * p >= 5]
    counts = [found[x] for x in common]
    wanted = [2000 * expected[x] for x in common]
    counts.append(2000 - sum(counts))
    wanted.append(2000 - sum(wanted))
    assert len(common) > 5
    assert chisquare(counts, wanted) > 1e-3


def test_among_one_is_greedy(model):
    best = beam_decode(model, SOURCE, 1, 0.0)
    found = sample_decode(model, SOURCE, Sampling(top_k=1), range(3))
    assert [x.tokens for x in found] == [x[0].tokens for x in best]
    for one, (other,) in zip(found, best, strict=True):
        assert one.log_probability == pytest.approx(
            other.log_probability, abs=1e-4
        )


def test_what_is_drawn_belongs_to_the_place(model):
    """Neither the batch nor the order counts, but the place and the seed."""
    model = model.double()
    some = Sampling(seed=7)
    together = sample_decode(model, SOURCE, some, [4, 11, 30])
    alone = [
        sample_decode(model, SOURCE[i : i + 1], some, [place])[0]
        for i, place in enumerate([4, 11, 30])
    ]
    assert [x.tokens for x in together] == [x.tokens for x in alone]
    for other, places in [(some, [5, 12, 31]), (Sampling(), [4, 11, 30])]:
        found = sample_decode(model, SOURCE, other, places)
        assert [x.tokens for x in found] != [x.tokens for x in together]


@pytest.mark.parametrize(
    "wrong", [{"top_k": -1}, {"temperature": 0.0}, {"seed": -1}]
)
def test_samplings_that_cannot_be(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=name):
        Sampling(**wrong)
