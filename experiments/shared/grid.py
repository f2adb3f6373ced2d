"""The runs of an experiment: one for each combination of what it varies."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import product
from typing import Any

from annotated_transformer.corpora.corpus import Corpus

Arguments = Mapping[str, Any]  # of a run, by their names
Result = dict[str, Any]  # of a run: numbers, and lists of them, for JSON
Runs = dict[str, Callable[[], Result]]


def grid(
    run: Callable[..., Result],
    key: str,
    /,
    **varied: Iterable[Any] | Mapping[str, Arguments],
) -> Runs:
    """The runs by their keys, such as `heads={heads} seed={seed}`.

    What a name of the key varies over is given to `run` under that name. Of
    a mapping, its keys name the runs and its values are their arguments.
    """
    runs: Runs = {}
    for values in product(*varied.values()):
        chosen = dict(zip(varied, values, strict=True))
        given: dict[str, Any] = {}
        for name, value in chosen.items():
            of = varied[name]
            given |= of[value] if isinstance(of, Mapping) else {name: value}
        runs[key.format_map(chosen)] = partial(run, **given)
    return runs


def no_text(name: str) -> Callable[[], Corpus]:
    """The corpus() of an experiment that draws all it learns from: empty."""
    return partial(Corpus, [], [], {}, name, "", "", {})
