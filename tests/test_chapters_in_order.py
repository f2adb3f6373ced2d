"""Each chapter's module works with those before it, and no later one."""

import json
import subprocess
import sys
from pathlib import Path

import chapters
import yaml

TINY = """
from annotated_transformer.model import ModelConfig, transformer
tiny = ModelConfig(9, layers=1, d_model=8, d_ff=8, heads=2)
model, x = transformer(tiny), torch.tensor([[4, 2]])
"""
# what each module is for, on the least that shows it
EXAMPLES = {
    "attention": "y = torch.rand(2, 3, 4)\n"
    "m.scaled_dot_product_attention(y, y, y)",
    "heads": "y = torch.rand(2, 3, 8); m.MultiHeadAttention(8, 2)(y, y)",
    "embedding": "m.TokenEmbedding(9, 8)(torch.tensor([[4, 2]]))",
    "layers": "m.FeedForward(8, 16)(torch.rand(2, 3, 8))",
    "model": f"{TINY}model(x, x)",
    "data": "m.make_batch([([4, 2], [5, 6, 2])])",
    "loss": "m.label_smoothing_loss(torch.rand(2, 9), torch.tensor([4, 5]),"
    " 0.1)",
    "optimizer": "m.make_optimizer(torch.nn.Linear(2, 2)).step()",
    "training": f"""{TINY}
from annotated_transformer.data import make_batch
from annotated_transformer.optimizer import adam
batches = iter([make_batch([([4, 2], [5, 6, 2])])])
config = m.TrainConfig(steps=1, warmup=1)
next(m.updates(model, batches, adam(model.parameters()), config, 8)).check()
""",
    "decoding": f"{TINY}m.beam_decode(model, x, 2)",
    "translation": "m.Translator.load('pronouns')('The dog was hungry.')",
    "sequences": "m.Recurrence(8)(torch.rand(2, 3, 8))",
    "recurrence": "m.recurrent_translator(m.RecurrentConfig(9, 8, 8))",
    "modern": f"{TINY}from dataclasses import replace\n"
    "later = replace(tiny, norm='rms', positions='rotary', kv_heads=1)\n"
    "transformer(later)(x, x)",
    "writing": "m.Writer.load('plays')('ROMEO:', max_new_tokens=5)",
    "scale": f"{TINY}m.cache_bytes(tiny, 5)",
    "risk": "m.risk(torch.rand(2, 3), torch.rand(2, 3))",
    "parsing": "m.treebank(3, 0)",
    "adapting": f"{TINY}m.add_adapters(model, 2); model(x, x)",
    "decoder_only": f"{TINY}m.SourceAndTarget(tiny)(x, x)",
}
PROGRAM = """
import importlib, json, os, sys
import numpy, sacrebleu, sentencepiece, torch
chapters, examples = json.loads(sys.argv[1])

class Later:
    def __init__(self, names):
        self.names = names
    def find_spec(self, name, path=None, target=None):
        if name in self.names:
            raise ImportError(name + " is of a later chapter")

for place, chapter in enumerate(chapters):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    told = ""
    sys.meta_path.insert(0, Later([
        "annotated_transformer." + x for x in chapters[place + 1:]
    ]))
    try:
        m = importlib.import_module("annotated_transformer." + chapter)
        exec(examples.get(chapter, ""), {"m": m, "torch": torch})
    except Exception as error:
        told = repr(error)
    print(json.dumps([chapter, told]), flush=True)
    os._exit(0)
"""


def in_order():
    """The modules of the chapters, as the book orders them."""
    toc = yaml.safe_load((chapters.ROOT / "_toc.yml").read_text("utf-8"))
    files = [x["file"] for part in toc["parts"] for x in part["chapters"]]
    names = [chapters.module_name(Path(x)) for x in files]
    return [x for x in names if (chapters.PACKAGE / f"{x}.py").exists()]


def test_each_chapter_needs_none_after_it():
    """All in processes that have imported nothing of the package."""
    given = json.dumps([in_order(), EXAMPLES])
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, given],
        cwd=chapters.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    told = dict(map(json.loads, ended.stdout.splitlines()))
    assert told == dict.fromkeys(EXAMPLES, "")
    assert [*told] == in_order()
