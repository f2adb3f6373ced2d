"""Pictures: right numbers in right cells, one palette."""

from itertools import combinations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from annotated_transformer.teaching import plotting


@pytest.fixture(autouse=True)
def close_figures():
    with matplotlib.rc_context():
        yield
    plt.close("all")


def deuteranopia(colour: str) -> np.ndarray:
    """How a reader without green cones sees a colour (Vienot 1999)."""
    red, green, blue = (channel**2.2 for channel in to_rgb(colour))
    yellow = 0.29275 * red + 0.70725 * green
    seen = np.array([yellow, yellow, -0.02234 * red + 0.02234 * green + blue])
    return seen.clip(0, 1) ** (1 / 2.2)


def test_colours_differ_for_every_reader():
    three = [plotting.COLOURS[name] for name in ("query", "key", "value")]
    for colours, least in ((three, 0.25), (plotting.SERIES, 0.1)):
        for one, other in combinations(colours, 2):
            distance = np.abs(deuteranopia(one) - deuteranopia(other)).sum()
            assert distance > least, (one, other)


def test_heatmap_shows_the_matrix_row_by_row():
    matrix = torch.tensor([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    _, ax = plotting.figure()
    plotting.heatmap(ax, matrix, ["a", "b"], ["x", "y", "z"])
    np.testing.assert_array_equal(ax.images[0].get_array(), matrix.numpy())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]
    assert [text.get_text() for text in ax.get_xticklabels()] == list("xyz")
    image = ax.images[0]
    assert (image.norm.vmin, image.norm.vmax) == (0.0, 1.0)


def test_heatmap_refuses_what_is_not_a_matrix_or_is_misnamed():
    _, ax = plotting.figure()
    with pytest.raises(ValueError, match="3 dimensions"):
        plotting.heatmap(ax, torch.zeros(1, 2, 2))
    for draw in (plotting.attention_map, plotting.mask_map):
        with pytest.raises(ValueError, match="4 dimensions: choose a batch"):
            draw(torch.ones(1, 2, 3, 3))
    with pytest.raises(ValueError, match="3 names for 2"):
        plotting.heatmap(ax, torch.zeros(2, 2), rows=["a", "b", "c"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_map_takes_weights_that_carry_gradients(dtype):
    weights = torch.eye(3, dtype=dtype, requires_grad=True)
    ax = plotting.attention_map(weights, list("abc"), list("abc"))
    assert ax.images[0].norm.vmin == 0.0
    assert ax.images[0].norm.vmax == 1.0
    assert "queries" in ax.get_ylabel()
    assert "keys" in ax.get_xlabel()


def test_mask_map_colours_what_may_be_seen():
    mask = torch.ones(3, 3, dtype=torch.bool).tril()
    ax = plotting.mask_map(mask)
    image = ax.images[0]
    np.testing.assert_allclose(
        image.cmap(image.norm(1.0))[:3], to_rgb(plotting.COLOURS["query"])
    )
    np.testing.assert_array_equal(image.get_array(), mask.numpy())


def test_curves_keep_the_colour_of_what_they_show():
    _, ax = plotting.figure()
    lines = {"validation": ([0, 1], [2.0, 1.0]), "other": ([0, 1], [3, 2])}
    plotting.curves(ax, lines, log=True)
    first, second = ax.lines
    assert first.get_color() == plotting.COLOURS["validation"]
    assert first.get_linestyle() != second.get_linestyle()
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.get_legend().texts] == [*lines]
