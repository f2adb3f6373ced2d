"""What an update costs a GPU, counted on a CPU; and the counter itself."""

import pytest
import torch
from operations import counted
from torch.autograd.profiler import record_function
from torch.nn import functional as F

X = torch.randn(4, 6)
SEEN = X > 0


@pytest.mark.parametrize(
    "block, operations",
    [
        (lambda: X.view(6, 4).t().unsqueeze(0).detach(), 0),
        (lambda: torch.empty(3).new_empty(2), 0),
        (lambda: X @ X.t(), 1),
        (lambda: X.matmul(X.t()).relu_(), 2),
        (lambda: F.dropout(X, 0.5), 1),
        (lambda: F.dropout(X, 0.5, training=False), 0),
        (lambda: X.clone().bernoulli_(0.5).mul(X).div_(2), 3),
        (lambda: record_function("mark").__enter__(), 0),
        (lambda: torch._foreach_mul([X, X], 2.0), 1),
    ],
)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
def test_operations_are_those_a_gpu_would_run(block, operations, mode):
    with mode(), counted() as seen:
        block()
    assert seen.operations == operations, seen
    assert not seen.synchronisations


def test_a_dropout_is_one_operation_each_way():
    x = X.clone().requires_grad_()
    with counted() as seen:
        F.dropout(x, 0.5).backward(X)
    assert seen.operations == 2, seen


@pytest.mark.parametrize(
    "block",
    [
        lambda: X.sum().item(),
        lambda: float(X.sum()),
        lambda: bool(SEEN.any()),
        lambda: X.tolist(),
        lambda: X.numpy(),
        lambda: X.cpu(),
        lambda: SEEN.nonzero(),
        lambda: X[SEEN],
        lambda: X.clone().__setitem__(SEEN, X[0, 0]),
        lambda: X.masked_select(SEEN),
        lambda: torch.equal(X, X),
        lambda: torch.tensor([1.0, 2.0]),
        lambda: X.unique(),
        lambda: X.to("meta"),
        lambda: torch.empty(4, 6, device="meta").copy_(X),
        lambda: X.repeat_interleave(torch.arange(4), 0),
    ],
)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.inference_mode])
def test_synchronisations_are_seen(block, mode):
    with mode(), counted() as seen:
        block()
    assert seen.synchronisations == 1, seen


@pytest.mark.parametrize(
    "block",
    [
        lambda: X[:, torch.arange(3)],
        lambda: X.index_select(0, torch.arange(3)),
        lambda: X.where(SEEN, 0.0),
        lambda: X.masked_fill(SEEN, 1.0),
        lambda: X.to("meta", non_blocking=True),
        lambda: X.double(),
        lambda: X.clone().copy_(X),
        lambda: X.repeat_interleave(2, 0),
    ],
)
def test_what_does_not_wait_is_no_synchronisation(block):
    with counted() as seen:
        block()
    assert not seen.synchronisations, seen
