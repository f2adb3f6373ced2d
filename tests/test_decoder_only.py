"""A decoder-only model that translates, against one row under one mask."""

import pytest
import torch
from torch_twins import lively

from annotated_transformer.data import pad
from annotated_transformer.decoder_only import SourceAndTarget
from annotated_transformer.decoding import beam_decode
from annotated_transformer.embedding import BOS, EOS
from annotated_transformer.model import ModelConfig, greedy_decode

SIZES = ModelConfig(
    30,
    layers=3,
    d_model=16,
    d_ff=32,
    heads=4,
    dropout=0.0,
    pre_norm=True,
    max_length=16,  # so that a search is short
)
SOURCES = [[5, 6, 7, 8, EOS], [9, 10, EOS], [4, EOS]]
TARGETS = [[BOS, 11, 12], [BOS, 13, 14], [BOS, 15, 16]]


@pytest.fixture(params=[False, True], ids=["causal", "prefix"])
def model(request):
    torch.manual_seed(1)
    return lively(SourceAndTarget(SIZES, request.param)).eval()


def in_one_row(model, source, target):
    """Logits of the target, of a row without padding under one mask."""
    row = torch.tensor([source + target])
    place = torch.arange(row.size(1))
    mask = place <= place[:, None]
    if model.prefix:
        mask = mask | (place < len(source))
    x = model.target(row)
    for layer in model.decoder.layers:
        x, _ = layer(x, target_mask=mask)
    return model.logits(model.decoder.norm(x))[0, len(source) :]


@torch.no_grad()
def test_padded_pieces_are_one_row_under_one_mask(model):
    found = model(pad(SOURCES), torch.tensor(TARGETS))
    for logits, source, target in zip(found, SOURCES, TARGETS, strict=True):
        expected = in_one_row(model, source, target)
        torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-4)


def test_the_cached_search_finds_what_the_whole_row_says(model):
    """Greedily; and by a beam, a sentence alone and among others."""
    together = beam_decode(model, pad(SOURCES), width=4)
    greedy = beam_decode(model, pad(SOURCES), width=1)
    rows = greedy_decode(model, pad(SOURCES)).tolist()
    for i, source in enumerate(SOURCES):
        (alone,) = beam_decode(model, torch.tensor([source]), width=4)
        assert together[i][0].tokens == alone[0].tokens
        written = greedy[i][0].tokens
        assert rows[i][: len(written)] == written
        assert len({*written}) > 1


def test_a_long_source_outgrows_the_table_of_positions(model):
    source = torch.full((1, 100), 5)
    target = torch.full((1, 100), 6)
    assert model(source, target).isfinite().all()


def test_other_positions_are_refused():
    sizes = ModelConfig(**(vars(SIZES) | {"positions": "rotary"}))
    with pytest.raises(ValueError, match="sinusoidal"):
        SourceAndTarget(sizes)
