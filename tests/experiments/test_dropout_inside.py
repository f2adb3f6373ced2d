"""Dropout inside the feed-forward network."""

import torch

from annotated_transformer.model import ModelConfig, transformer
from experiments import dropout_inside


def test_dropout_inside_draws_for_inner_numbers_in_training_alone():
    sizes = {"layers": 1, "d_model": 8, "d_ff": 400, "heads": 2}
    model = transformer(ModelConfig(9, **sizes, dropout=0.25))
    inner = model.encoder.layers[0].feed_forward.inner
    dropout_inside.dropout_inside(model)
    feed = model.encoder.layers[0].feed_forward
    x = torch.randn(50, 8)
    assert feed.eval().inner(x).equal(inner(x))
    dropped = feed.train().inner(x)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], (inner(x) / 0.75)[kept])
    assert 0.2 < 1 - kept.float().mean() < 0.3
