"""Products by oneDNN are those of F.linear, and plain ones replace them."""

from copy import deepcopy
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from annotated_transformer.runs.prepare import build_model
from annotated_transformer.runs.recipes import Recipe
from annotated_transformer.speed.fast_kernels import use_fast_kernels
from annotated_transformer.speed.matrix_products import (
    available,
    product,
    weights_at_rest,
)
from annotated_transformer.training import TrainConfig


@given(
    shape=st.lists(st.integers(0, 9), max_size=2),
    rows=st.integers(0, 200),
    sizes=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    bias=st.booleans(),
    turned=st.booleans(),
)
@settings(deadline=None)
def test_gradients_are_those_of_linear(shape, rows, sizes, bias, turned):
    layer = nn.Linear(*sizes, bias=bias)
    x = torch.randn(*shape, rows, sizes[0])
    if turned:  # not in one piece of memory
        x = x.mT.contiguous().mT
    dy = torch.randn(*shape, rows, sizes[1])
    found = []
    for multiply in (lambda x: product(x, layer.weight, layer.bias), layer):
        given = x.clone().requires_grad_()
        layer.zero_grad()
        y = multiply(given)
        y.backward(dy)
        found.append([y, given.grad, *(p.grad for p in layer.parameters())])
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-3)  # sums of many


def test_a_single_vector_has_gradients():
    linear = nn.Linear(1024, 1024)
    x = torch.randn(1024)
    wanted = torch.autograd.grad(linear(x).sum(), linear.weight)[0]
    use_fast_kernels(linear)
    found = torch.autograd.grad(linear(x).sum(), linear.weight)[0]
    assert torch.equal(found, wanted)


def test_training_asks_it_too(model, many):
    recipe = Recipe(model.config, TrainConfig())
    model = build_model(recipe, "cpu")
    with torch.profiler.profile() as seen:
        model(many, many).sum().backward()
    names = [event.name for event in seen.events()]
    layers = sum(isinstance(layer, nn.Linear) for layer in model.modules())
    # the products of each layer, and of the logits, and two of each gradient
    assert names.count("mkldnn::_linear_pointwise") == 3 * (layers + 1)


def orders(model, *inputs):
    """How many weights were put in oneDNN's order."""
    with torch.profiler.profile() as seen:
        found = model(*inputs)
    names = [event.name for event in seen.events()]
    return names.count("mkldnn::_reorder_linear_weight"), found


@torch.no_grad()
def test_weights_at_rest_are_put_in_order_once(fast, model, many):
    layers = sum(isinstance(layer, nn.Linear) for layer in model.modules())
    count, expected = orders(fast, many, many)
    assert count == 0
    for _ in range(2):  # and not longer than they are at rest
        with weights_at_rest():
            for number in (layers + 1, 0):  # and the logits
                count, found = orders(fast, many, many)
                assert count == number
                torch.testing.assert_close(found, expected)


MULTIPLY, REORDER = "_linear_pointwise", "_reorder_linear_weight"
REAL = {name: getattr(torch.ops.mkldnn, name) for name in (MULTIPLY, REORDER)}


def refuse(*arguments):
    raise TypeError("of another release")


@pytest.fixture(
    params=[
        {MULTIPLY: REAL[MULTIPLY]},
        {REORDER: REAL[REORDER]},
        {**REAL, MULTIPLY: refuse},
        {**REAL, MULTIPLY: lambda x, *rest: 2 * x},
        None,
    ],
    ids=["no order", "no product", "refuses", "other product", "no oneDNN"],
)
def another_release(request, monkeypatch):
    """Put the private functions of another PyTorch in place of this one's."""

    def put():
        if request.param is None:
            off = "torch.backends.mkldnn.is_available"
            monkeypatch.setattr(off, lambda: False)
        else:
            others = SimpleNamespace(**request.param)
            monkeypatch.setattr(torch.ops, "mkldnn", others)
        available.cache_clear()
        assert not available()

    yield put
    monkeypatch.undo()
    available.cache_clear()


def test_without_the_private_functions_all_is_plain(
    another_release, model, many, recwarn, capfd
):
    assert available()
    another_release()
    fast = deepcopy(model)
    use_fast_kernels(fast)
    assert str(fast) == str(model)
    for way in (weights_at_rest(), torch.enable_grad()):
        with torch.no_grad(), way:
            assert torch.equal(fast(many, many), model(many, many))
    assert not recwarn.list and capfd.readouterr() == ("", "")


def test_a_fast_model_works_where_they_are_missing(
    another_release, fast, model, many
):
    """It may have been unpickled by another PyTorch."""
    another_release()
    for way in (weights_at_rest(), torch.enable_grad()):
        with torch.no_grad(), way:
            torch.testing.assert_close(fast(many, many), model(many, many))


def test_a_model_shows_what_it_asks(fast, model):
    assert "OneDNN" not in str(model)
    layers = sum(isinstance(layer, nn.Linear) for layer in model.modules())
    assert str(fast).count("OneDNNLinear(") == layers
    assert "OneDNNEmbedding(" in str(fast)
