"""Sums in another order change rounding, and nothing else; and are noticed."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import nbformat
import pytest
import torch
import torch.nn.functional as F
from nbformat.v4 import new_code_cell, new_notebook, new_output
from shaken import Shaken
from torch.utils._python_dispatch import _disable_current_modes

ROOT = Path(__file__).parents[1]
with torch.random.fork_rng():
    torch.manual_seed(0)
    A, B = torch.randn(5, 300), torch.randn(300, 7)
    LAYER = torch.nn.TransformerEncoderLayer(64, 4, 128, 0.0, batch_first=True)
    LSTM = torch.nn.LSTM(64, 20, batch_first=True)
    X = torch.randn(3, 9, 64)


@pytest.fixture(autouse=True)
def only_once():
    """Only what a test itself shakes is shaken."""
    with _disable_current_modes():
        yield


def gradient(module):
    """The gradients of all parameters, from outputs squared."""
    found = module(X)
    found = found[0] if isinstance(found, tuple) else found
    parts = torch.autograd.grad(found.square().sum(), module.parameters())
    return torch.cat([part.flatten() for part in parts])


def without_gradients(function):
    with torch.inference_mode():
        return function()


SUMS = {
    "product": lambda: A @ B,
    "batched": lambda: torch.einsum("bij,bkj->bik", X, X),
    "affine": lambda: F.linear(X, B.T[:, :64], A[0, :7]),
    "inference": lambda: without_gradients(lambda: F.linear(A, B.T)),
    "sum": lambda: X.square().sum(dim=(0, 1)),
    "mean": lambda: X.mean(dim=(0, 2)),
    "norm": lambda: X.norm(dim=-1),
    "variance": lambda: X.double().var(dim=1),
    "softmax": lambda: X.softmax(-2),
    "loss": lambda: F.cross_entropy(
        X.double().mT, torch.arange(27).view(3, 9), reduction="none"
    ),
    "layer norm": lambda: F.layer_norm(X, [64], A[0, :64], B[:64, 0]),
    "attention": lambda: F.scaled_dot_product_attention(X, X, X),
    "causal": lambda: F.scaled_dot_product_attention(X, X, X, is_causal=True),
    "convolution": lambda: F.conv1d(X, B[:45].view(7, 9, 5)),
    "lookup": lambda: torch.autograd.grad(
        F.embedding(torch.arange(27) % 2, LAYER.linear1.weight).square().sum(),
        LAYER.linear1.weight,
    )[0],
    "layer": lambda: gradient(LAYER),
    "recurrence": lambda: gradient(LSTM),
    "vmap": lambda: torch.vmap(lambda row: row @ B)(A),
    "compiled": torch.compile(lambda: A @ B, backend="eager"),
    "in place": lambda: A.clone().sigmoid_().addmm_(A @ B, B.T),
}


@pytest.mark.parametrize("name", SUMS)
def test_only_rounding_changes(name):
    plain = SUMS[name]()
    found = []
    for seed in (1, 2, 3):
        with Shaken(seed):
            found.append(SUMS[name]())
            again = SUMS[name]()
        assert torch.equal(found[-1], again)
        torch.testing.assert_close(found[-1], plain, rtol=1e-4, atol=1e-4)
    assert any(not torch.equal(one, plain) for one in found)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_exact_stays(dtype):
    whole = torch.randint(-9, 9, (2, 30, 30)).to(dtype)
    exact = {
        "product": lambda: whole @ whole,
        "sum": lambda: whole.sum(1),
        "halves": lambda: torch.zeros(3, 4, dtype=dtype).softmax(-1),
        "one": lambda: torch.tensor([0.0, 1e4], dtype=dtype).softmax(-1),
        "exp": lambda: torch.tensor([0.0, -1e4, 1e4], dtype=dtype).exp(),
    }
    for name, function in exact.items():
        plain = function()
        with Shaken(1):
            assert torch.equal(function(), plain), name


def test_other_tensors_are_left_alone():
    with Shaken(1):
        assert (A.to("meta") @ B.to("meta")).shape == (5, 7)
        assert (A.int() @ B.int()).dtype == torch.int32
        assert A.bfloat16().exp().dtype == torch.bfloat16


LINES = """\
import torch
x = torch.rand(999, generator=torch.Generator().manual_seed(0))
found = [(x @ y).item() for y in (x, x.flip(0), x.roll(1), x.roll(2))]
"""


def test_planted_rounding_errors_are_found(tmp_path):
    """In a test and in a cell; what is exact in them is not."""
    names = {}
    exec(LINES, names)
    results = {"found": names["found"], "len(found)": 4}
    for name, folder in (("tests", tmp_path), ("book", tmp_path / "book")):
        folder.mkdir(exist_ok=True)
        (folder / "conftest.py").symlink_to(ROOT / name / "conftest.py")
    bodies = [
        f"{LINES}assert {what} == {result!r}\n"
        for what, result in results.items()
    ]
    tests = [
        f"def test_{number}():\n{indent(body, '    ')}"
        for number, body in enumerate(bodies)
    ]
    (tmp_path / "test_planted.py").write_text("\n\n".join(tests))
    cells = [
        new_code_cell(
            LINES + what,
            execution_count=count,
            outputs=[
                new_output(
                    "execute_result",
                    {"text/plain": repr(result)},
                    execution_count=count,
                )
            ],
        )
        for count, (what, result) in enumerate(results.items(), start=1)
    ]
    nbformat.write(
        new_notebook(cells=cells), tmp_path / "book" / "planted.ipynb"
    )
    folders = "pythonpath=" + " ".join(
        str(ROOT / name) for name in ("tests/support", "tools", "book/_ext")
    )
    words = ["-m", "pytest", "-q", "--nbval", "--nbval-current-env"]
    ended = subprocess.run(
        [sys.executable, *words, "-o", folders, "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env=os.environ | {"SHAKE": "1"},
        capture_output=True,
        text=True,
    )
    failed = re.findall(r"^FAILED (\S+)", ended.stdout, re.MULTILINE)
    assert failed == ["book/planted.ipynb::Cell", "test_planted.py::test_0"]
    assert "2 failed, 2 passed" in ended.stdout, ended.stdout + ended.stderr
