"""Why a post-norm Transformer wants a warm-up: norms, starts, rates, depths.

Six or twelve layers a side learn the built-in corpus, with the norm after each
sum, as published, or before each sub-layer, from the same initial weights. The
rate is full at the first update, or rises over a hundred; after both it falls
to zero, so that the sum of all rates is the same. Seed 0 tries the rates, and
the other seeds train each side at the rate that was best for it.

Other starts tell the explanations apart. "moments" shows Adam a hundred
batches before the first update, which is then full: its means are known, and
nothing else is changed. "output" lets the rate rise in the upper half of the
decoder alone, where the gradients are large, "elsewhere" in all but that.

Three layers learn for a thousand updates, with a longer rise, so that what a
full start has spoiled would have time to mend. Rate and rise were found with
seed 1.
"""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import count
from statistics import fmean

import torch
from torch import Tensor, nn

from annotated_transformer.data import Batch, encode_pairs, training_batches
from annotated_transformer.layers import AddNorm
from annotated_transformer.model import ModelConfig, Transformer, transformer
from annotated_transformer.optimizer import adam, linear_rate
from annotated_transformer.runs.batches import fixed_batches
from annotated_transformer.training import TrainConfig, updates, validate

from .shared.grid import Result, Runs, grid
from .shared.settings import Learning, Sizes
from .shared.small_translator import corpus, tokenizer

WIDTH = 64
SIZES: Sizes = {
    "d_model": WIDTH,
    "d_ff": 128,
    "heads": 4,
    "dropout": 0.0,
}
STEPS = 400
LEARNING: Learning = {
    "steps": STEPS,
    "batch_tokens": 512,
    "schedule": "linear",
    "label_smoothing": 0.0,
    "max_length": 64,
}
RISE = 100  # updates of a warm-up
LOOKED_AT = (1, 10, 100)  # updates after which the vectors are looked at
RECIPE = {
    "model": SIZES,
    "train": LEARNING,
    "vocab_size": 1000,
    "warmup": RISE,
    "looked_at": list(LOOKED_AT),
}


class Later(TrainConfig):
    """A recipe whose first updates have a rate of zero."""

    def rate(self, step: int, d_model: int) -> float:
        """None at first, then the recipe's from its beginning."""
        if step <= RISE:
            return 0.0
        assert self.peak_lr is not None  # run gives one
        return linear_rate(step - RISE, self.peak_lr, 1, STEPS)


def norms_before(model: Transformer) -> None:
    """Read through the norms; the weights stay as they were drawn."""
    for part in model.modules():
        if isinstance(part, AddNorm):
            part.pre_norm = True
    model.encoder.norm = nn.LayerNorm(WIDTH)
    model.decoder.norm = nn.LayerNorm(WIDTH)


def root_mean_square(tensors: Iterable[Tensor]) -> float:
    """Of all numbers together."""
    numbers = torch.cat([t.flatten() for t in tensors])
    return numbers.square().mean().sqrt().item()


class FirstStep:
    """What the first update is, layer by layer: gradients and steps."""

    def __init__(self, model: Transformer, optimizer: torch.optim.Optimizer):
        stacks = [*model.encoder.layers, *model.decoder.layers]
        self.layers = [[*layer.parameters()] for layer in stacks]
        self.gradients: list[float] = []
        self.steps: list[float] = []
        optimizer.register_step_pre_hook(self.before)
        optimizer.register_step_post_hook(self.after)

    def before(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        """Keep the weights, if they are about to move for the first time."""
        if self.steps or not optimizer.param_groups[0]["lr"]:
            return
        self.kept = [[p.detach().clone() for p in x] for x in self.layers]
        self.gradients = [
            root_mean_square(p.grad for p in layer) for layer in self.layers
        ]

    @torch.no_grad()
    def after(self, optimizer: torch.optim.Optimizer, *_: object) -> None:
        """How far they went."""
        if self.steps or not self.gradients:
            return
        self.steps = [
            root_mean_square(map(torch.sub, *both))
            for both in zip(self.layers, self.kept, strict=True)
        ]


@torch.no_grad()
def vectors(model: Transformer, batch: Batch) -> Tensor:
    """What the decoder hands to the output, at the places with a target."""
    x, _ = model.decode(batch.inputs, model.read(batch.source))
    return x.flatten(0, 1)[batch.places]


def alike(x: Tensor) -> float:
    """The mean cosine of two vectors of different places."""
    x = nn.functional.normalize(x, dim=1)
    n = len(x)
    return ((x.sum(0).square().sum().item()) - n) / (n * (n - 1))


def rises(model: Transformer, start: str) -> torch.optim.Optimizer:
    """Adam, whose rate rises in one part of the model if that is the start."""
    if start not in ("output", "elsewhere"):
        return adam(model.parameters())
    layers = model.decoder.layers
    near = [p for x in layers[len(layers) // 2 :] for p in x.parameters()]
    known = {id(p) for p in near}
    others = [p for p in model.parameters() if id(p) not in known]
    slow, fast = (near, others) if start == "output" else (others, near)
    optimizer = adam(slow)
    optimizer.add_param_group({"params": fast})
    done = count(1)

    def lower(optimizer: torch.optim.Optimizer, *_: object) -> None:
        """Give one group the rate that it has in a warm-up."""
        step = next(done)
        if step < STEPS:
            share = linear_rate(step, 1.0, RISE, STEPS)
            share /= linear_rate(step, 1.0, 1, STEPS)
            optimizer.param_groups[0]["lr"] *= share

    optimizer.register_step_pre_hook(lower)
    return optimizer


def run(
    norm: str,
    layers: int,
    start: str,
    rate: float,
    seed: int,
    steps: int = STEPS,
    rise: int = RISE,
) -> Result:
    """Train; the loss of the validation sentences, and how it began."""
    pieces = tokenizer()
    warmup = rise if start == "rising" else 1
    learning: Learning = {
        **LEARNING,
        "steps": steps,
        "warmup": warmup,
        "peak_lr": rate,
    }
    recipe = TrainConfig(**learning, seed=seed)
    if start == "moments":
        recipe = Later(**asdict(recipe) | {"steps": steps + RISE})
    examples, _ = encode_pairs(corpus().train, pieces, recipe.max_length)
    held_out, _ = encode_pairs(corpus().valid, pieces, recipe.max_length)
    torch.manual_seed(seed)
    sizes: Sizes = {**SIZES, "layers": layers}
    config = ModelConfig(len(pieces), **sizes)
    model = transformer(config)
    if norm == "before":
        norms_before(model)
    optimizer = rises(model, start)
    first = FirstStep(model, optimizer)
    probe, *_ = valid = fixed_batches(held_out, 2048)
    began = vectors(model, probe)
    losses, moved, cosines = [], [], [alike(began)]
    batches = training_batches(examples, recipe.batch_tokens, recipe.seed)
    for update in updates(model, batches, optimizer, recipe, config.d_model):
        losses.append(update.loss.item())
        if update.step in LOOKED_AT:
            now = vectors(model, probe)
            moved.append((now - began).norm().item() / began.norm().item())
            cosines.append(alike(now))
    cosines.append(alike(vectors(model, probe)))
    return {
        "loss": validate(model, valid).loss,
        "curve": [
            round(fmean(losses[i : i + 20]), 3)
            for i in range(0, recipe.steps, 20)
        ],
        "gradients": first.gradients,
        "steps": first.steps,
        "moved": [round(x, 4) for x in moved],
        "alike": [round(x, 4) for x in cosines],
    }


NORMS = ("after", "before")
TRIED = [  # by seed 0
    (6, NORMS, ("full", "rising"), (4e-4, 1e-3, 2.5e-3, 6e-3)),
    (6, ("before",), ("full", "rising"), (1.5e-2,)),
    (12, NORMS, ("full", "rising"), (4e-4, 1e-3, 2.5e-3, 6e-3)),
]
DECIDING = [  # by the other seeds, at the rates that were best, or at one
    (6, ("after",), ("full",), (4e-4,)),
    (6, ("after",), ("rising", "moments"), (1e-3,)),
    (6, ("before",), ("full", "rising", "moments"), (6e-3,)),
    (6, ("after",), ("full", "output", "elsewhere"), (1e-3,)),
    (6, ("before",), ("full", "rising"), (1e-3,)),
    (6, ("after",), ("full", "rising"), (2.5e-3,)),
]
RUNS: Runs = {}
for settings, seeds in ((TRIED, [0]), (DECIDING, [1, 2, 3])):
    for layers, norms, starts, rates in settings:
        RUNS |= grid(
            run,
            "norm={norm} layers={layers} start={start} rate={rate} "
            "seed={seed}",
            layers=[layers],
            norm=norms,
            start=starts,
            rate=rates,
            seed=seeds,
        )
RUNS |= grid(
    run,
    "norm={norm} layers={layers} start={start} rate={rate} steps={steps} "
    "seed={seed}",
    layers=[3],
    norm=NORMS,
    start={
        "full": {"start": "full"},
        "rising over 300": {"start": "rising", "rise": 300},
    },
    rate=[8e-3],
    steps=[1000],
    seed=[2, 3, 4],
)
