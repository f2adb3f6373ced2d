"""Freed memory is used again."""

import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from annotated_transformer import RECIPES, Corpus, Translator, train
from annotated_transformer.data import copy_task
from annotated_transformer.speed import allocator

COUNT = """
import resource
import torch
from annotated_transformer.speed.allocator import keep_freed_memory

{first}
for i in range(40):
    if i == 20:  # by now the heap has found its shape
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(16_000_000)  # 64 MB, freed at once
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only the GNU C library"
)
def test_a_large_block_is_used_again():
    faults = [
        int(
            subprocess.run(
                [sys.executable, "-c", COUNT.format(first=first)],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for first in ("", "assert keep_freed_memory()")
    ]
    assert faults[1] < 0.5 * faults[0]  # 0, unless memory is short


@pytest.fixture
def kept(monkeypatch):
    """What the GNU C library is asked for, where it is asked by us."""
    asked = []
    library = SimpleNamespace(
        mallopt=lambda *given: asked.append(given) or 1,
        malloc_trim=lambda rest: 1,
    )
    own = SimpleNamespace(CDLL=lambda name: library)
    monkeypatch.setattr(allocator, "ctypes", own)
    return asked


def test_the_library_leaves_the_allocator_alone(kept, tmp_path):
    pairs = copy_task(60)
    corpus = Corpus(pairs[10:], pairs[:10], {}, "copy", "xx", "xx", {})
    recipe = RECIPES["copy"].with_fields(["train.steps=2", "train.warmup=1"])
    output = train(tmp_path / "run", corpus, recipe, device="cpu")
    assert isinstance(Translator.load(output, fast=True)("abc"), str)
    assert not kept


@pytest.mark.parametrize(
    "words",
    [
        ["translate", "MODEL", "en"],
        ["score", "MODEL", "en", "de"],
        ["evaluate", "MODEL", "en", "de"],
        ["train", "new", "--task=copy", "--max-steps=1"],
    ],
    ids=lambda words: words[0],
)
def test_the_commands_keep_freed_memory(
    kept, words, command, trained, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for side in ("en", "de"):
        Path(side).write_text("abc\n")
    ended = command(*(trained if x == "MODEL" else x for x in words))
    assert ended.status == 0, ended.err
    assert len(kept) == 2
