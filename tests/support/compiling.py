"""Compile a model and train it: fails if batches of new lengths recompile.

It has the names of a plain one, and learns what that learns.

A program of its own, because the checks of shapes that the tests put into
every function of the package are not to be compiled.
"""

from dataclasses import replace
from functools import partial

import torch

from annotated_transformer.data import Batch, make_batch
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.prepare import build_model
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.training import TrainConfig, updates

# the longest, and the longest that there may be, are in the middle
LENGTHS = [9, 17, 40, 130, 6, 300, *range(50, 20, -3), 200, 7, 8, 100]


def batch_of(sentences: int, length: int) -> Batch:
    """Sides of unlike lengths, the longer one the source's by turns."""
    long, short = [5] * length, [6] * (length // 2 + 1)
    pair = (long, short) if length % 2 else (short, long)
    return make_batch([pair] * sentences)


def check(bf16: bool) -> None:
    """Twenty updates; from the third on nothing may be compiled."""
    base = RECIPES["copy"]
    sizes = replace(base.model, vocab_size=20, layers=1, d_model=16, d_ff=32)
    train = TrainConfig(steps=20, warmup=5, max_length=300, bf16=bf16)
    recipe = replace(base, model=sizes, train=train)
    model = build_model(recipe, "cpu", compiled=True)
    plain = build_model(recipe, "cpu")
    batches = [batch_of(2 + n % 7, n) for n in LENGTHS]
    list(updates(plain, iter(batches), adam(plain.parameters()), train, 16))
    turns = updates(model, iter(batches), adam(model.parameters()), train, 16)
    next(turns), next(turns)
    with torch._dynamo.config.patch(error_on_recompile=True):
        assert len(list(turns)) == 18
    seen = torch._dynamo.utils.counters
    assert seen["stats"]["unique_graphs"] >= 1 and not seen["graph_break"]
    found, expected = model.state_dict(), plain.state_dict()
    assert list(found) == list(expected)
    for name, weight in () if bf16 else found.items():
        torch.testing.assert_close(weight, expected[name], rtol=0, atol=1e-4)


if __name__ == "__main__":
    torch.compile = partial(torch.compile, backend="eager")  # the quickest
    for bf16 in (False, True):
        torch._dynamo.reset()
        check(bf16)
