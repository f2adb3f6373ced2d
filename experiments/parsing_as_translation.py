"""Parsing: trees written as strings, by three translators of equal size.

They learn 2,000 sentences of the chapter's grammar with 1 to 3 modifiers, and
are tested on others, and on deep ones with 4 to 6. The recipe is that of the
recurrence experiment; only the peak of the rate is each model's own: the best
of four in shorter runs (the runs "rate=..."), by validation. The controls are
a recurrent translator without attention; a text with another sentence of the
same length in the place of each; and, without a model, a table that knows
the kinds of the words and nothing else ("forms"). With "sentences=..." there
is more text, and as many updates.
"""

from dataclasses import asdict
from functools import cache, partial

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.large_text import pairs_sha256
from annotated_transformer.data import make_batch
from annotated_transformer.embedding import UNK
from annotated_transformer.parsing import leaves, linearise
from annotated_transformer.training import validate

from .shared import translators, treebank
from .shared.grid import Arguments, Result, grid
from .shared.translators import models, trained
from .shared.treebank import (
    TRAIN,
    by_form,
    examples,
    parse,
    scores,
    training_trees,
    trees,
    vocabulary,
)

STEPS, SHORTER = 2000, 500  # updates
BEAM = 5
TRIED = (1.5e-3, 3e-3, 6e-3, 1.2e-2)
RATES = {"transformer": 3e-3, "recurrent": 6e-3, "unattended": 6e-3}
MANY = 8000  # sentences, where there is more text
SEEDS = (0, 1, 2)
FURTHER = (3, 4, 5, 6, 7)  # of the Transformer, which is set against a table
RECIPE = asdict(translators.TRAIN) | {
    "steps": STEPS,
    "vocab_size": UNK + 1 + len(vocabulary()),
    "sentences": {kind: len(chosen) for kind, chosen in trees().items()},
    "more": treebank.MORE,
    "beam": BEAM,
}


@cache
def corpus() -> Corpus:
    """The sentences and their trees as text."""
    pairs = {
        kind: [(" ".join(leaves(tree)), linearise(tree)) for tree in chosen]
        for kind, chosen in trees().items()
    }
    sums = {kind: pairs_sha256(text) for kind, text in pairs.items()}
    tests = {kind: pairs[kind] for kind in ("test", "deep")}
    return Corpus(
        pairs["train"], pairs["valid"], tests, "trees", "en", "trees", sums
    )


def parser(
    name: str,
    seed: int,
    rate: float,
    steps: int = STEPS,
    exchanged: bool = False,
    sentences: int = TRAIN,
) -> Result:
    """Train on sentences and trees, and parse what was not read."""
    texts, control = trees(), seed if exchanged else None
    train = examples(training_trees(sentences), control)
    build = models(RECIPE["vocab_size"])[name]
    model, losses = trained(build, train, seed, rate, steps)
    valid = examples(texts["valid"], control)
    perplexity = validate(model, [make_batch(valid)]).perplexity
    result = {"rate": rate, "perplexity": round(perplexity, 4)}
    if steps < STEPS:
        return result
    result["parameters"] = sum(p.numel() for p in model.parameters())
    ways: dict[str, tuple[str, dict[str, int]]] = {
        "": ("test", {}),
        "deep_": ("deep", {}),
    }
    if not exchanged:
        ways["beam_"] = "test", {"width": BEAM}
        ways["limited_"] = "deep", {"more": 50}  # as in translation (6.1)
    for kind, (text, how) in ways.items():
        sources = [s for s, _ in examples(texts[text], control)]
        found = scores(parse(model, sources, **how), texts[text])
        result |= {kind + key: number for key, number in found.items()}
    return result | {"loss": losses}


def table(seed: int, sentences: int = TRAIN) -> Result:
    """What the commonest tree of each form is worth; no chance is in it."""
    outputs = by_form(training_trees(sentences), trees()["test"])
    return scores(outputs, trees()["test"])


RUNS = grid(
    partial(parser, steps=SHORTER),
    "rate={rate} {name} seed={seed}",
    name=[*RATES],
    rate=TRIED,
    seed=[0],
)
BEST: dict[str, Arguments] = {
    name: {"name": name, "rate": rate} for name, rate in RATES.items()
}
TRANSFORMER = partial(parser, **BEST["transformer"])
RUNS |= grid(parser, "{name} seed={seed}", seed=SEEDS, name=BEST)
RUNS |= grid(TRANSFORMER, "transformer seed={seed}", seed=FURTHER)
RUNS |= grid(
    partial(TRANSFORMER, exchanged=True), "exchanged seed={seed}", seed=SEEDS
)
RUNS |= grid(table, "forms seed={seed}", seed=[0])
RUNS |= grid(
    partial(table, sentences=MANY),
    f"sentences={MANY} forms seed={{seed}}",
    seed=[0],
)
RUNS |= grid(
    partial(parser, sentences=MANY),
    f"sentences={MANY} {{name}} seed={{seed}}",
    name={name: BEST[name] for name in ("transformer", "recurrent")},
    seed=SEEDS,
)
