"""Batches ahead of the model: on a GPU nobody waits for their copies."""

import threading
from contextlib import contextmanager
from unittest import mock

import pytest
import torch

from annotated_transformer.data import Batch, make_batch
from annotated_transformer.runs import feeding
from annotated_transformer.runs.feeding import ahead

BATCHES = [make_batch([([4] * n + [2], [5, 2])] * n) for n in (1, 2, 3, 4)]


@pytest.fixture
def gpu(monkeypatch):
    """The calls that would go to a GPU, by the thread that makes them."""
    calls = {"reader": [], "thread": []}

    def said(what):
        here = threading.current_thread() is threading.main_thread()
        calls["reader" if here else "thread"].append(what)

    device = torch.device("cuda")
    own, reader = (
        mock.Mock(spec=torch.cuda.Stream, device=device) for _ in range(2)
    )
    names = {id(own): "its own stream", id(reader): "the reader's"}
    reader.wait_stream = lambda which: said(f"wait for {names[id(which)]}")

    @contextmanager
    def stream(which):
        said(names[id(which)])
        yield
        said("end")

    def to(batch, device, non_blocking=False):
        said(f"to {device}" + " at once" * (not non_blocking))
        return batch

    def pin(tensor):
        said("pin")
        return tensor

    def record(tensor, which):
        said(f"kept for {names[id(which)]}")

    cuda = feeding.torch.cuda
    monkeypatch.setattr(cuda, "Stream", lambda device: own)
    monkeypatch.setattr(cuda, "stream", stream)
    monkeypatch.setattr(cuda, "current_stream", lambda device: reader)
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    monkeypatch.setattr(torch.Tensor, "record_stream", record)
    monkeypatch.setattr(Batch, "to", to)
    return calls


def test_the_reader_of_a_gpu_s_batches_copies_nothing(gpu):
    """It only tells the GPU what to wait for, before it uses the batch."""
    for number, batch in enumerate(ahead(iter(BATCHES), "cuda"), 1):
        for name, tensor in vars(BATCHES[number - 1]).items():
            assert tensor.equal(getattr(batch, name))
        each = ["wait for its own stream", *["kept for the reader's"] * 5]
        assert gpu["reader"] == number * each
    each = ["its own stream", *["pin"] * 5, "to cuda", "end"]
    assert number == 4 and gpu["thread"] == 4 * each


def test_on_a_cpu_nothing_is_pinned():
    for batch, made in zip(ahead(iter(BATCHES), "cpu"), BATCHES, strict=True):
        for tensor, other in zip(
            vars(batch).values(), vars(made).values(), strict=True
        ):
            assert tensor is other


def test_elsewhere_they_are_moved():
    found = list(ahead(iter(BATCHES), "meta"))
    assert {batch.source.device.type for batch in found} == {"meta"}
    assert [b.tokens for b in found] == [b.tokens for b in BATCHES]


def test_what_the_thread_raises_comes_in_the_place_of_the_batch():
    def broken():
        yield from BATCHES[:3]
        raise ValueError("no more")

    found = []
    with pytest.raises(ValueError, match="no more"):
        found.extend(ahead(broken(), "cpu"))


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device is at hand"
)
def test_batches_come_to_a_gpu_without_waiting():
    """Many, so that memory of the first ones has been given away again."""
    rows = [[([i, n, 2], [n] * n + [2])] * n for i in range(9) for n in (4, 9)]
    made = [make_batch(some) for some in rows]
    busy = torch.randn(2000, 2000, device="cuda")
    moved, sums = ahead(iter(made), "cuda"), []
    torch.cuda.set_sync_debug_mode("error")
    try:
        for batch in moved:
            busy = (busy @ busy).clamp(-1, 1)  # while the next are copied
            sums.append(torch.stack([x.sum() for x in vars(batch).values()]))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    expected = [[int(x.sum()) for x in vars(b).values()] for b in made]
    assert torch.stack(sums).tolist() == expected
