"""The paper's numbers: its configurations, and the scores of its Table 3."""

import chapters
import torch

from annotated_transformer.model import PRESETS, transformer

BASE, BIG = PRESETS["base"], PRESETS["big"]


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
