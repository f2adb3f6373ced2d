"""Dropout of fewer random bits drops what it should."""

import pickle
from copy import deepcopy

import pytest
import torch
from torch import nn

from annotated_transformer.speed.dropout import draw_fewer_numbers


@pytest.mark.parametrize("p", [0.0, 0.1, 0.3, 0.9999999])
def test_dropout_of_fewer_bits_drops_what_it_should(p):
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Dropout(p))
    draw_fewer_numbers(layer)
    x = torch.ones(1001, 333, requires_grad=True)  # no multiple of four
    y = layer(x)
    kept = y != 0
    assert torch.allclose(y[kept], torch.tensor(1 / (1 - p)))
    sigma = (p * (1 - p) / x.numel()) ** 0.5
    assert abs(kept.float().mean() - (1 - p)) <= 5 * sigma + 2**-16
    both = (kept[:, 1:] & kept[:, :-1]).float().mean()  # neighbours
    assert abs(both - (1 - p) ** 2) <= 5 * sigma + 2**-15
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    assert layer.eval()(x) is x


def test_dropout_of_fewer_bits_follows_the_seed():
    layer, x = nn.Sequential(nn.Dropout(0.5)), torch.ones(2, 3, 5)
    draw_fewer_numbers(layer)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(layer(x.bfloat16()))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert found[0].dtype == torch.bfloat16


def test_a_copy_draws_from_a_generator_of_its_own():
    layers = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5))
    draw_fewer_numbers(layers, torch.Generator())
    x = torch.ones(100)
    copies = deepcopy(layers), pickle.loads(pickle.dumps(layers))
    torch.manual_seed(5)
    found = [copy(x) for copy in (layers, *copies)]
    assert all(torch.equal(found[0], other) for other in found[1:])
    assert not torch.equal(layers(x), found[0])
