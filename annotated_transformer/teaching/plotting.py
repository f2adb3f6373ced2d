"""Pictures in one style: the palette of the book and its few kinds of figure.

The colours are those of Okabe and Ito, which readers with any colour vision
can tell apart. A figure is drawn on white; on a dark page the style sheet
inverts it. In a notebook it is a vector graphic, sharp on screen and in print.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from torch import Tensor

COLOURS: dict[str, str] = {
    "query": "#0072B2",
    "key": "#E69F00",
    "value": "#009E73",
    "memory": "#CC79A7",
    "mask": "#D9DCE1",
    "encoder": "#56B4E9",
    "decoder": "#D55E00",
    "loss": "#D55E00",
    "validation": "#0072B2",
    "text": "#1F2933",
    "muted": "#5B6672",
    "grid": "#E3E6EA",
}
"""The colour of each item, the same in every chapter."""

SERIES = [
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#1F2933",
]
"""Colours for lines that have no fixed meaning, in order of use."""

SEQUENTIAL = LinearSegmentedColormap.from_list(
    "attention", ["#FFFFFF", "#9CCBE8", "#0072B2", "#00314D"]
)
"""For weights: white at 0."""

DIVERGING = LinearSegmentedColormap.from_list(
    "signed", ["#0072B2", "#FFFFFF", "#D55E00"]
)
"""For signed numbers: white at 0."""

Numbers = Tensor | np.ndarray | Sequence[Any]


def style() -> None:
    """Set matplotlib's defaults to the style of the book.

    `figure` calls it; only a chapter that makes its own figure needs it.
    """
    mpl.rcParams.update(
        {
            "savefig.dpi": 160,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.family": "DejaVu Sans",
            "font.size": 12,
            "axes.titlesize": "medium",
            "axes.titlelocation": "left",
            "axes.labelcolor": COLOURS["text"],
            "axes.edgecolor": COLOURS["muted"],
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": mpl.rcsetup.cycler(color=SERIES),
            "axes.grid": True,
            "grid.color": COLOURS["grid"],
            "text.color": COLOURS["text"],
            "xtick.color": COLOURS["text"],
            "ytick.color": COLOURS["text"],
            "legend.frameon": False,
            "lines.linewidth": 2.0,
            "svg.hashsalt": "annotated_transformer",  # else ids are random
        }
    )
    if "inline" in mpl.get_backend():
        draw_vectors()


def draw_vectors() -> None:
    """Make a notebook show figures as SVG, the same file on every run."""
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    moment = ("Date", "Creator", "Format", "Type")
    set_matplotlib_formats("svg", dpi=200, metadata=dict.fromkeys(moment))


def figure(
    width: float = 6.2,
    height: float = 3.2,
    rows: int = 1,
    columns: int = 1,
    **kwargs: Any,
) -> tuple[Figure, Axes | np.ndarray]:
    """A figure (inches) with its axes.

    A phone shows it 350 pixels wide: of a figure wider than the default the
    labels would be less than nine pixels high.

    A single Axes, or an array if there are several rows or columns. Other
    arguments go to `matplotlib.pyplot.subplots`.
    """
    style()
    return plt.subplots(rows, columns, figsize=(width, height), **kwargs)


def as_array(values: Numbers) -> np.ndarray:
    """A tensor of any dtype and device, or a sequence, as a float array."""
    if isinstance(values, Tensor):
        values = values.detach().cpu().float().numpy()
    return np.asarray(values, dtype=float)


def as_matrix(values: Numbers) -> np.ndarray:
    """Like `as_array`; ValueError unless there are two dimensions."""
    matrix = as_array(values)
    if matrix.ndim != 2:
        raise ValueError(
            f"a heatmap shows a matrix, not an array of {matrix.ndim} "
            "dimensions: choose a batch and a head first"
        )
    return matrix


def heatmap(
    ax: Axes,
    matrix: Numbers,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    limit: float | None = None,
    title: str = "",
) -> None:
    """Draw a matrix [rows, columns] as coloured cells with named axes.

    Colours run from 0 to `limit`, by default the largest number.
    """
    matrix = as_matrix(matrix)
    if limit is None:
        limit = float(matrix.max(initial=0)) or 1.0
    ax.imshow(matrix, cmap=SEQUENTIAL, vmin=0, vmax=limit, aspect="equal")
    name_cells(ax, matrix.shape, rows, columns)
    ax.set_title(title)


def name_cells(
    ax: Axes,
    shape: tuple[int, ...],
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> None:
    """Label rows and columns, and draw white lines between cells."""
    axes, both = (ax.yaxis, ax.xaxis), (rows, columns)
    for axis, count, names in zip(axes, shape, both, strict=True):
        if names is not None and len(names) != count:
            raise ValueError(
                f"{len(names)} names for {count} rows or columns of a matrix "
                f"of shape {tuple(shape)}"
            )
        axis.set_ticks([] if names is None else range(count), names)
        axis.set_ticks(np.arange(0.5, count - 1), minor=True)
    if columns is not None and max(map(len, columns), default=0) > 2:
        ax.tick_params("x", rotation=90 if shape[1] > 12 else 45)
    ax.grid(False)
    ax.grid(which="minor", color="white", linewidth=1.0)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def attention_map(
    weights: Numbers,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    title: str = "",
) -> Axes:
    """Draw weights [queries, keys]; a row is one query and sums to one."""
    weights = as_matrix(weights)
    if ax is None:
        count, length = weights.shape
        side = min(6.2, max(2.6, 0.42 * max(count, length) + 1.4))
        style()
        size = side, side * max(0.6, min(1.2, count / length))
        _, ax = plt.subplots(figsize=size)
    heatmap(ax, weights, queries, keys, limit=1.0, title=title)
    ax.set_xlabel("keys: what is looked at", color="#8A5F00")
    ax.set_ylabel("queries: who looks", color=COLOURS["query"])
    return ax


def mask_map(
    mask: Numbers,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    ax: Axes | None = None,
    *,
    title: str = "",
) -> Axes:
    """Draw a Boolean mask [queries, keys], coloured where a query may look."""
    mask = as_matrix(mask)
    if ax is None:
        style()
        _, ax = plt.subplots(figsize=(3.2, 3.2))
    colours = ListedColormap([COLOURS["mask"], COLOURS["query"]])
    ax.imshow(mask, cmap=colours, vmin=0, vmax=1, aspect="equal")
    name_cells(ax, mask.shape, queries, keys)
    ax.set(title=title, xlabel="keys", ylabel="queries")
    return ax


def curves(
    ax: Axes,
    series: Mapping[str, tuple[Numbers, Numbers]],
    *,
    title: str = "",
    x_label: str = "",
    y_label: str = "",
    log: bool = False,
) -> None:
    """Draw named lines {name: (x, y)} in different colours and dashes.

    A name in `COLOURS` ("loss", "validation") gets the colour listed there.
    """
    for number, (name, (x, y)) in enumerate(series.items()):
        ax.plot(
            as_array(x),
            as_array(y),
            ("-", "--", "-.", ":")[number % 4],
            color=COLOURS.get(name, SERIES[number % len(SERIES)]),
            label=name,
        )
    ax.set(title=title, xlabel=x_label, ylabel=y_label)
    if log:
        ax.set_yscale("log")
    if len(series) > 1:
        ax.legend()
