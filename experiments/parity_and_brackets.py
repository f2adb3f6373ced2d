"""Parity and brackets: what a fixed depth computes, and what steps add.

A row of letters has an answer after each letter. Of zeros and ones it is the
parity so far: whether the ones are odd. Of two kinds of brackets, nested at
most four deep, it is the kind of the innermost one that is open, or none. All
models learn every answer of rows of 20 letters: an LSTM; a Transformer of two
layers that reads the letters alone ("at once"), for parity one of four layers
as well; and one of two that reads its own answers between them ("in steps").
Positions are ALiBi's, which exist for all lengths.

Tested are the last answers of rows as long and longer. Those that read their
own answers read what they wrote, as a writer does. In the last place of a row
of brackets one is open, so that a guess is right half of the time.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.model import ModelConfig
from annotated_transformer.optimizer import adam
from annotated_transformer.sequences import LSTM
from annotated_transformer.writing import LanguageModel

from .shared.grid import Result, grid, no_text
from .shared.settings import Sizes
from .shared.training_loops import fit

SIZES: Sizes = {
    "d_model": 64,
    "d_ff": 128,
    "heads": 4,
    "dropout": 0.0,
    "pre_norm": True,
    "positions": "alibi",
}
LAYERS = {"at once": 2, "at once, four layers": 4, "in steps": 2}
DEEPEST = 4  # brackets that are open
LENGTH = 20  # letters of a row in training
TESTED = (10, 20, 30, 40, 60, 80, 160)
ROWS = 500  # tested, of each length
BATCH, UPDATES, RATE, WARMUP = 64, 900, 2e-3, 100
RECIPE = {
    "model": SIZES,
    "layers": LAYERS,
    "deepest": DEEPEST,
    "length": LENGTH,
    "tested": [*TESTED],
    "rows": ROWS,
    "batch": BATCH,
    "updates": UPDATES,
    "rate": RATE,
    "warmup": WARMUP,
}
corpus = no_text("random bits and brackets")
Rows = Int[Tensor, "rows length"]


def bits(count: int, length: int) -> tuple[Rows, Rows]:
    """Rows of zeros and ones, and the parity after each letter."""
    letters = torch.randint(2, (count, length))
    return letters, letters.cumsum(1) % 2


def brackets(count: int, length: int) -> tuple[Rows, Rows]:
    """Rows of brackets, and the kind of the innermost open one, or 2.

    Letters 0 and 1 open a bracket, 2 and 3 close one of their kind. When a
    row ends at least one is open.
    """
    stack = torch.full((count, DEEPEST + 1), 2)  # kinds by depth; none at 0
    depth = torch.zeros(count, dtype=torch.long)
    row, letters, answers = torch.arange(count), [], []
    for place in range(length):
        least = 1 if place == length - 1 else 0  # that stay open
        opens = (torch.rand(count) < 0.5) & (depth < DEEPEST)
        opens |= depth <= least
        kind = torch.randint(2, (count,))
        letters.append(torch.where(opens, kind, 2 + stack[row, depth]))
        depth = depth + torch.where(opens, 1, -1)
        stack[row[opens], depth[opens]] = kind[opens]
        answers.append(stack[row, depth])
    return torch.stack(letters, 1), torch.stack(answers, 1)


class Task(NamedTuple):
    """Rows with answers, and how many kinds there are of both."""

    draw: Callable[[int, int], tuple[Rows, Rows]]
    letters: int
    answers: int


TASKS = {"parity": Task(bits, 2, 2), "brackets": Task(brackets, 4, 3)}


class Recurrent(nn.Module):
    """An LSTM that answers after each letter."""

    def __init__(self, task: Task):
        super().__init__()
        width = SIZES["d_model"]
        self.letters = nn.Embedding(task.letters, width)
        self.lstm = LSTM(width)
        self.answers = nn.Linear(width, task.answers)

    def forward(self, letters: Rows, answers: Rows) -> Tensor:
        """Logits of the answers [rows, length, kinds]."""
        return self.answers(self.lstm(self.letters(letters)))

    def answered(self, letters: Rows) -> Rows:
        """The likeliest answer after each letter."""
        return self(letters, letters).argmax(-1)


class AtOnce(nn.Module):
    """A Transformer that answers after each letter, from the letters."""

    def __init__(self, task: Task, layers: int):
        super().__init__()
        self.task = task
        sizes: Sizes = {**SIZES, "layers": layers}
        config = ModelConfig(task.letters + task.answers, **sizes)
        self.model = LanguageModel(config)

    def forward(self, letters: Rows, answers: Rows) -> Tensor:
        """Logits of the answers [rows, length, kinds]."""
        return self.model.next_logits(letters)[..., self.task.letters :]

    def answered(self, letters: Rows) -> Rows:
        """The likeliest answer after each letter."""
        return self(letters, letters).argmax(-1)


class InSteps(AtOnce):
    """A Transformer that reads its answers, each after its letter."""

    def forward(self, letters: Rows, answers: Rows) -> Tensor:
        """Logits of the answers, from the letters and the true ones before."""
        both = torch.stack([letters, self.task.letters + answers], 2)
        logits = self.model.next_logits(both.flatten(1)[:, :-1])
        return logits[:, ::2, self.task.letters :]

    def answered(self, letters: Rows) -> Rows:
        """The likeliest answer after each letter, from its own before."""
        memory, state, written = self.model.read(), None, letters[:, :0]
        for letter in letters.split(1, dim=1):
            new = letter
            if written.size(1):
                last = self.task.letters + written[:, -1:]
                new = torch.cat([last, letter], 1)
            x, state = self.model.decode(new, memory, state)
            logits = self.model.logits(x[:, -1:])[..., self.task.letters :]
            written = torch.cat([written, logits.argmax(-1)], 1)
        return written


def build(task: str, model: str) -> Recurrent | AtOnce:
    """A model by its name."""
    if model == "LSTM":
        return Recurrent(TASKS[task])
    kind = InSteps if model == "in steps" else AtOnce
    return kind(TASKS[task], LAYERS[model])


def run(task: str, model: str, seed: int) -> Result:
    """Train; by length, the share of last answers that are right."""
    torch.manual_seed(seed)
    draw, network = TASKS[task].draw, build(task, model)

    def loss() -> Tensor:
        letters, answers = draw(BATCH, LENGTH)
        logits = network(letters, answers)
        return F.cross_entropy(logits.mT, answers)

    losses = fit(loss, adam(network.parameters()), UPDATES, RATE, WARMUP)
    network.eval()
    right = []
    with torch.inference_mode():
        for length in TESTED:
            letters, answers = draw(ROWS, length)
            hits = network.answered(letters)[:, -1] == answers[:, -1]
            right.append(round(hits.float().mean().item(), 3))
    return {
        "parameters": sum(x.numel() for x in network.parameters()),
        "loss": round(sum(losses[-50:]) / 50, 4),
        "right": right,
    }


RUNS = grid(
    run,
    "{task}, {model} seed={seed}",
    task=[*TASKS],
    model=["LSTM", "at once", "in steps"],
    seed=range(3),
)
RUNS |= grid(
    run,
    "{task}, {model} seed={seed}",
    task=["parity"],
    model=["at once, four layers"],
    seed=range(3),
)
