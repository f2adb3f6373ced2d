"""Drawn translations: as often as they are probable, whatever the batch."""

import pytest
import torch
from chi_square import chisquare
from tiny_models import TINY

from annotated_transformer.data import pad
from annotated_transformer.storage.builders import build
from experiments.shared.drawn_translations import draw_each, drawn

ROWS = 20_000
SOURCE = pad([[5, 9, 7, 2], [4, 2], [8, 8, 6, 5, 4, 2]])


@pytest.fixture(params=TINY)
def model(request):
    torch.manual_seed(1)
    return build(TINY[request.param]).eval().double()


def test_tokens_come_as_often_as_they_are_probable():
    torch.manual_seed(3)
    p = (2 * torch.randn(1, 12)).softmax(-1)
    p = p.masked_fill(torch.eye(12)[3] > 0, 0)
    tokens = drawn(p.expand(ROWS, -1), torch.rand(ROWS, 1)).flatten()
    found = tokens.bincount(minlength=12)
    possible = p[0] > 0
    assert found[~possible].sum() == 0 and possible.sum() == 11
    wanted = p[0, possible].double().numpy()
    wanted *= ROWS / wanted.sum()
    assert chisquare(found[possible].numpy(), wanted) > 1e-3


def test_what_is_drawn_belongs_to_the_place(model):
    """Neither the batch nor the order counts, but the place."""
    places = [4, 11, 30]
    together = draw_each(model, SOURCE, places)
    alone = [
        draw_each(model, SOURCE[i : i + 1], [place])[0]
        for i, place in enumerate(places)
    ]
    assert [x.tokens for x in together] == [x.tokens for x in alone]
    others = draw_each(model, SOURCE, [5, 12, 31])
    assert [x.tokens for x in others] != [x.tokens for x in together]
