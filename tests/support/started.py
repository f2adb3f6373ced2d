"""Processes that are started as torchrun starts them, in milliseconds."""

import multiprocessing
import os
import socket
from collections.abc import Callable
from multiprocessing.process import BaseProcess

import torch

PATIENCE = 300  # seconds; machines are busy at times
# Processes that are forked from a clean one, which has imported everything.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["annotated_transformer", "torch._dynamo"])


def start(
    work: Callable[..., object], size: int, *arguments: object
) -> list[BaseProcess]:
    """Start so many processes; each calls work(*arguments)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": size, "MASTER_ADDR": "localhost"}
    common |= {"MASTER_PORT": port, "OMP_NUM_THREADS": 1}
    started: list[BaseProcess] = []
    for rank in range(size):
        given = {"RANK": rank, "LOCAL_RANK": rank, **common}
        process = context.Process(
            target=child, args=(given, work, *arguments), daemon=True
        )
        process.start()
        started.append(process)
    return started


def child(
    given: dict[str, object],
    work: Callable[..., object],
    *arguments: object,
) -> None:
    os.environ.update({name: str(value) for name, value in given.items()})
    torch.set_num_threads(1)
    work(*arguments)


def ends(started: list[BaseProcess]) -> list[int | None]:
    """The exit statuses, once all have ended."""
    for process in started:
        process.join(PATIENCE)
    return [process.exitcode for process in started]
