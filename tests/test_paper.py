"""The paper's numbers: its configurations and Table 3's parameter column."""

from dataclasses import replace

import chapters
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.model import (
    PRESETS,
    parameter_count,
    transformer,
)

BASE, BIG = PRESETS["base"], PRESETS["big"]

# Table 3: what a row changes in the base model, and its printed millions
# (rows A, D and E print none: they have the base model's 65, row E aside).
TABLE_3 = {
    "base": ({}, 65),
    "A h=1": ({"heads": 1}, 65),
    "A h=4": ({"heads": 4}, 65),
    "A h=16": ({"heads": 16}, 65),
    "A h=32": ({"heads": 32}, 65),
    "B d_k=16": ({"d_k": 16}, 58),
    "B d_k=32": ({"d_k": 32}, 60),
    "C N=2": ({"layers": 2}, 36),
    "C N=4": ({"layers": 4}, 50),
    "C N=8": ({"layers": 8}, 80),
    "C d_model=256": ({"d_model": 256, "d_k": 32, "d_v": 32}, 28),
    "C d_model=1024": ({"d_model": 1024, "d_k": 128, "d_v": 128}, 168),
    "C d_ff=1024": ({"d_ff": 1024}, 53),
    "C d_ff=4096": ({"d_ff": 4096}, 90),
    "D P_drop=0.0": ({"dropout": 0.0}, 65),
    "D P_drop=0.2": ({"dropout": 0.2}, 65),
}


def test_presets_are_the_papers():
    for config, layers, d_model, d_ff, heads, dropout in (
        (BASE, 6, 512, 2048, 8, 0.1),
        (BIG, 6, 1024, 4096, 16, 0.3),
    ):
        assert (config.layers, config.d_model) == (layers, d_model)
        assert (config.d_ff, config.heads) == (d_ff, heads)
        assert (config.vocab_size, config.dropout) == (37_000, dropout)
        assert config.attention_dropout == 0
        assert config.tied and not config.pre_norm
        assert config.positions == "sinusoidal"
        with torch.device("meta"):
            attention = transformer(config).encoder.layers[0].self_attention
        assert (attention.d_k, attention.d_v) == (64, 64)


@pytest.mark.parametrize("row", TABLE_3)
def test_table_3_counts(row):
    """The printed millions are met, to their rounding, with 41,000 tokens.

    With the 37,000 of section 5.1 every row is smaller.
    """
    change, printed = TABLE_3[row]
    config = replace(BASE, vocab_size=41_000, **change)
    assert abs(parameter_count(config) / 1e6 - printed) <= 0.5
    config = replace(config, vocab_size=37_000)
    assert 0.93 * printed < parameter_count(config) / 1e6 < 0.99 * printed


def test_layer_counts():
    with torch.device("meta"):
        model = transformer(BASE)
    layers = [model.encoder.layers[0], model.decoder.layers[0]]
    counts = [sum(p.numel() for p in layer.parameters()) for layer in layers]
    assert counts == [3_152_384, 4_204_032]
    feed_forward = sum(p.numel() for p in layers[0].feed_forward.parameters())
    assert feed_forward == 2_099_712
    rest = parameter_count(BASE) - 37_000 * 512
    assert rest == 6 * sum(counts) == 44_138_496
    assert parameter_count(BASE) == 63_082_496


def test_rows_a_cost_the_same():
    """Neither parameters nor multiplications depend on the heads (3.2.2)."""
    costs = set()
    for heads in (1, 4, 8, 16, 32):
        config = replace(BASE, heads=heads, layers=1, vocab_size=100)
        with torch.device("meta"):
            model = transformer(config)
            source = torch.ones(2, 10, dtype=torch.long)
            with FlopCounterMode(display=False) as counter:
                model(source, source)
        costs.add((parameter_count(config), counter.get_total_flops()))
    assert len(costs) == 1


def quoted(stem, beginning):
    """What the cell of a notebook that quotes a table defines."""
    cells = chapters.read(chapters.BOOK / f"{stem}.ipynb").cells
    (source,) = (
        cell.source for cell in cells if cell.source.startswith(beginning)
    )
    names = {}
    exec(source, names)
    return names


def test_two_pages_quote_the_same_scores_of_table_3():
    rows = quoted("15_variations", "TABLE_3 = {")["TABLE_3"]
    found = quoted("paper_tables", "base = (")
    for name, row in {
        "heads": "A h=",
        "widths": "B d_k=",
        "layers": "C N=",
    }.items():
        for size, scores in found[name].items():
            assert scores == rows.get(f"{row}{size}", rows["base"])
