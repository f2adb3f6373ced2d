"""The program of the page of devices that divides a model among processes."""

import os
import re
import shutil

import chapters
import torch
from small_runs import same_weights
from started import ends, start

from annotated_transformer.corpora.generated import builtin_corpus
from annotated_transformer.data import (
    encode_pairs,
    train_tokenizer,
    training_batches,
)
from annotated_transformer.model import transformer
from annotated_transformer.optimizer import adam, set_rate
from annotated_transformer.storage.model_folder import load_model
from annotated_transformer.training import TrainConfig, batch_loss

PAGE = (chapters.BOOK / "toolkit_devices.md").read_text("utf-8")
(PROGRAM,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)


def run(program, folder):
    os.chdir(folder)
    exec(compile(program, "program.py", "exec"), {"__name__": "__main__"})


def test_the_sharded_program_of_the_page(tmp_path):
    """Resumed it ends bit for bit the same; and one process finds as much."""
    assert ends(start(run, 2, PROGRAM, tmp_path)) == [0, 0]
    (tmp_path / "model").rename(tmp_path / "whole")
    assert ends(start(run, 2, PROGRAM, tmp_path)) == [0, 0]
    assert same_weights(tmp_path / "model", tmp_path / "whole")
    shutil.rmtree(tmp_path / "sharded")
    sizes = "layers=2, d_model=32"
    assert sizes in PROGRAM
    certain = PROGRAM.replace(sizes, f"dropout=0.0, {sizes}")
    assert ends(start(run, 2, certain, tmp_path)) == [0, 0]
    assert not same_weights(tmp_path / "model", tmp_path / "whole")
    found, _, _ = load_model(tmp_path / "model")
    for name, weight in learned_by_one(found.config).items():
        torch.testing.assert_close(
            found.state_dict()[name], weight, atol=1e-4, rtol=1e-3
        )


def learned_by_one(sizes):
    """The weights that one process finds, with two batches as one."""
    pairs = builtin_corpus().train[:2000]
    tokenizer = train_tokenizer((x for pair in pairs for x in pair), 400)
    examples, _ = encode_pairs(pairs, tokenizer, max_length=64)
    config = TrainConfig(
        steps=20, batch_tokens=1024, schedule="linear", warmup=5, peak_lr=4e-3
    )
    torch.manual_seed(0)
    model = transformer(sizes)
    optimizer = adam(model.parameters())
    batches = training_batches(examples, config.batch_tokens, 0)
    for step in range(1, config.steps + 1):
        two = [next(batches), next(batches)]
        tokens = sum(batch.tokens for batch in two)
        for batch in two:
            (batch_loss(model, batch, config) / tokens).backward()
        set_rate(optimizer, config.rate(step, sizes.d_model))
        optimizer.step()
        optimizer.zero_grad()
    return model.state_dict()
