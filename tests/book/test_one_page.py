"""The Transformer on one page computes what the chapters compute."""

import random
import re
import runpy
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from chapters import BOOK

from annotated_transformer.data import Batch
from annotated_transformer.model import Transformer, transformer
from annotated_transformer.optimizer import adam
from annotated_transformer.runs.recipes import RECIPES
from annotated_transformer.training import TrainConfig, updates

PAGE = BOOK / "transformer_on_one_page.py"
RECIPE = RECIPES["pronouns"]
# of various lengths, so that both sides have padding
TEXTS = [
    ("The dog ate the soup .", "Die Katze , weil er"),
    ("The cat", "Der Hund fraß die Suppe , weil er müde war ."),
    ("The fox looked for the cake because it was fresh .", "Das Pferd"),
]


@pytest.fixture(scope="module")
def page() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(PAGE)))


def twins(page) -> tuple[torch.nn.Module, Transformer]:
    """The page's model and the package's, with the same weights."""
    torch.manual_seed(0)
    small = page.Transformer(len(page.WORDS))
    for weight in small.parameters():  # biases and norms, too
        weight.data += 0.1 * torch.randn_like(weight)
    config = replace(RECIPE.model, vocab_size=len(page.WORDS))
    large, weights = transformer(config), {}
    for name, weight in small.state_dict().items():
        stack, _, rest = name.partition(".")
        if stack == "tokens":
            for box in ("source.tokens", "target.tokens", "output"):
                weights[f"{box}.weight"] = weight.clone()
        elif stack.endswith("_norm"):
            weights[name.replace("_norm", ".norm")] = weight.clone()
        else:
            weights[f"{stack}.layers.{rest}"] = weight.clone()
    large.load_state_dict(weights)
    return small, large


def batch_of(page, pairs) -> tuple[list[torch.Tensor], Batch]:
    """A batch as the page reads it, and as the package does."""
    source, target = map(page.numbers, zip(*pairs, strict=True))
    return [source, target], Batch.of(source, target[:, 1:])


def test_page_is_short_and_needs_only_torch():
    text = PAGE.read_text("utf-8")
    assert len(text.splitlines()) <= 200
    imported = {*re.findall(r"^\s*(?:import|from) (\w+)", text, re.M)}
    assert imported - set(sys.stdlib_module_names) == {"torch"}


def test_same_weights_give_the_same_logits(page):
    """And so masks, positions and sizes are the same, too."""
    small, large = twins(page)
    assert len(small.encoder) == len(small.decoder) == RECIPE.model.layers
    (source, target), batch = batch_of(page, TEXTS)
    assert (source == page.PAD).any() and (target == page.PAD).any()
    logits = small(source, target[:, :-1])
    expected = large(source, batch.inputs)
    assert logits.std() > 1
    assert torch.allclose(
        logits[batch.where], expected[batch.where], atol=1e-4
    )


def test_training_is_the_same(page):
    small, large = twins(page)
    rng, known = random.Random(0), list(page.pairs())
    samples = [[*TEXTS, *rng.sample(known, 13)] for _ in range(10)]
    batches, theirs = zip(*(batch_of(page, s) for s in samples), strict=True)
    config: TrainConfig = replace(RECIPE.train, steps=10, warmup=100)
    losses = list(page.train(small, batches))
    # all in the warm-up, so that the number of updates does not matter
    optimizer = adam(large.parameters())
    expected = [
        float(update.loss)
        for update in updates(large, iter(theirs), optimizer, config, 64)
    ]
    assert losses == pytest.approx(expected, rel=1e-4)


def test_page_translates_what_it_has_not_read(page, capsys):
    random.seed(0)
    torch.manual_seed(0)
    runpy.run_path(str(PAGE), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    translations = dict(page.pairs())
    assert sum(line.startswith("update ") for line in lines) == 6
    unseen = [
        text for text in translations if "dog" in text and "soup" in text
    ]
    asked, written = lines[6::2], lines[7::2]
    assert asked == sorted(unseen)
    assert [text.strip() for text in written] == [
        translations[text] for text in asked
    ]
    assert "    Der Hund fraß die Suppe , weil er hungrig war ." in written
    front = (BOOK / "intro.md").read_text("utf-8")
    assert len(asked) == 18 and "eighteen German sentences" in front
