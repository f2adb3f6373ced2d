"""Two things at once: one attention, of one, two or four heads.

The task: of sixteen words, each with a value, name the values of the two that
are asked for, the first and the second. One attention of the model does it,
64 wide in all, however many heads share that width. A head has one set of
weights, so a single head must mix both values or leave one out. In the
control one word is asked for, which needs no more than one head.
"""

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.corpora.corpus import Corpus

WIDTH = 64
RECIPE = {
    "width": WIDTH,
    "vocabulary": 32,
    "words": 16,
    "values": 32,
    "optimizer": "Adam",
    "rate": 2e-3,
    "batch": 64,
    "steps": 800,
    "tested": 2000,
}


def corpus() -> Corpus:
    """None: the questions are drawn at random from the seed."""
    return Corpus([], [], {}, "random lookups", "", "", {})


class Picker(nn.Module):
    """Attention from a question to words that carry values."""

    def __init__(self, heads: int, picks: int):
        super().__init__()
        self.asked = nn.ModuleList(
            nn.Embedding(RECIPE["vocabulary"], WIDTH) for _ in range(picks)
        )
        self.word = nn.Embedding(RECIPE["vocabulary"], WIDTH)
        self.value = nn.Embedding(RECIPE["values"], WIDTH)
        self.attention = MultiHeadAttention(WIDTH, heads)
        self.output = nn.Linear(WIDTH, picks * RECIPE["values"])

    def forward(
        self,
        asked: Int[Tensor, "batch picks"],
        words: Int[Tensor, "batch words"],
        values: Int[Tensor, "batch words"],
    ) -> Float[Tensor, "batch picks values"]:
        """Logits of the values of the words that are asked for."""
        columns = zip(self.asked, asked.unbind(1), strict=True)
        query = sum(embed(column) for embed, column in columns)
        memory = self.word(words) + self.value(values)
        answer = self.attention(query[:, None], memory)[:, 0]
        return self.output(answer).unflatten(1, (-1, RECIPE["values"]))


def questions(count: int, picks: int) -> tuple[Tensor, ...]:
    """The words asked for, the words shown, their values, and the answers."""
    order = torch.rand(count, RECIPE["vocabulary"]).argsort(1)
    shown = order[:, : RECIPE["words"]]
    given = torch.randint(RECIPE["values"], shown.shape)
    right = torch.rand(shown.shape).argsort(1)[:, :picks]
    return shown.gather(1, right), shown, given, given.gather(1, right)


def run(heads: int, picks: int, seed: int) -> dict:
    """Train one attention; the share of new questions answered right."""
    torch.manual_seed(seed)
    model = Picker(heads, picks)
    optimizer = torch.optim.Adam(model.parameters(), lr=RECIPE["rate"])
    curve = []
    for step in range(1, RECIPE["steps"] + 1):
        *asked, answers = questions(RECIPE["batch"], picks)
        logits = model(*asked)
        loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            curve.append(round(loss.item(), 4))
    with torch.no_grad():
        *asked, answers = questions(RECIPE["tested"], picks)
        right = model(*asked).argmax(-1) == answers
    return {
        "all right": right.all(1).float().mean().item(),
        "each right": right.float().mean().item(),
        "loss": curve,
    }


RUNS: dict[str, Callable[[], dict]] = {
    f"heads={heads} picks={picks} seed={seed}": partial(
        run, heads=heads, picks=picks, seed=seed
    )
    for picks in (1, 2)
    for heads in (1, 2, 4)
    for seed in range(3)
}
