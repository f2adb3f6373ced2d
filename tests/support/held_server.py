"""The server of the page, whose functions can be held; for tests.

It writes each batch to the file "batches", a line of JSON, and computes one
with a text that begins with "Hold" only when there is a file "go".
"""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import serve

Function = Callable[..., Iterable[Any]]  # of a batch
app = serve.app


def held(function: Function) -> Function:
    """The function, so changed."""

    def compute(items: list[str], **options: Any) -> Iterable[Any]:
        with open("batches", "a") as file:
            file.write(json.dumps(items) + "\n")
        while items[0].startswith("Hold") and not Path("go").exists():
            time.sleep(0.01)
        return function(items, **options)

    return compute


for batcher in (serve.translate, serve.write):
    batcher.function = held(batcher.function)
