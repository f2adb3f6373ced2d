"""A text as ids: in memory, or if it is large in files that are mapped."""

import hashlib
import mmap
import os
import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, cast

import numpy as np
from rich.progress import Progress as Bar

from ..corpora.large_text import LARGE, text_sums
from ..data import Examples, Pair, Ragged, Tokenizer
from ..embedding import EOS, PAD
from ..errors import UserError
from ..system.cache import Cache
from ..system.console import console
from ..system.text_lines import blocks
from . import encoding_process

BLOCK = 5000  # texts that a process encodes at once
MOST = 16  # processes: the text is not read fast enough for more
# kinds that cut each word by itself: unigram adds the scores of a line, and
# word makes one unknown token of several
EACH_WORD = {"bpe", "char"}
Encode = Callable[[list[str]], bytes]


def encoded(
    pairs: list[Pair], tokenizer: Tokenizer, kind: str, cache: Cache
) -> Examples:
    """The pairs as ids; those of a large text are in the cache.

    What is learned from is normalized, by the tokenizer, and nothing more;
    capitals and signs are read otherwise where lines are translated. The kind
    of subwords says whether each word is cut by itself.
    """
    if len(pairs) < LARGE:
        return Examples.of(
            (tokenizer.encode(source), tokenizer.encode(target))
            for source, target in pairs
        )
    squeezes = tokenizer.pieces.normalize("  a   b ") == "▁a▁b"
    way = "by_word" if kind in EACH_WORD and squeezes else "by_line"
    texts, sums = chain.from_iterable(pairs), text_sums(pairs)
    number = 2 * len(pairs)
    return Examples(in_files(texts, sums, tokenizer, way, cache, number))


def in_files(
    texts: Iterable[str],
    known_by: list[str],
    tokenizer: Tokenizer,
    way: str,
    cache: Cache,
    number: int | None = None,
) -> Ragged:
    """Texts, how many if known, as rows of ids in files of the cache."""
    key = {
        "ids of": known_by,
        "by": hashlib.sha256(tokenizer.model).hexdigest(),
        "with": f"sentencepiece {version('sentencepiece')}, {way}",
    }
    if type(tokenizer) is not Tokenizer:
        way = ""
    make = partial(write_ids, texts, number, tokenizer, way)
    kept = known_to(cache, tokenizer)
    return kept.get(key, make, partial(read_ids, tokenizer))


def known_to(cache: Cache, tokenizer: Tokenizer) -> Cache:
    """The cache, if a model's sum says what the tokenizer does.

    Of a class of one's own, it does not.
    """
    return cache if type(tokenizer) is Tokenizer else Cache(kept=False)


def dtype(tokenizer: Tokenizer) -> np.dtype[Any]:
    """The smallest kind of number that ids fit in."""
    return np.dtype(np.uint16 if len(tokenizer) <= 2**16 else np.uint32)


def write_ids(
    texts: Iterable[str],
    number: int | None,
    tokenizer: Tokenizer,
    way: str,
    folder: Path,
) -> None:
    """Write the ids of texts, and the offsets of their rows, into a folder."""
    console.out(f"encoding the text, into {folder.parent}")
    total, hidden = 0, console.quiet or not console.is_terminal
    with (
        open(folder / "ids", "wb") as ids,
        open(folder / "offsets", "wb") as offsets,
        Bar(console=console, redirect_stderr=False, disable=hidden) as bar,
    ):
        task = bar.add_task("encoding", total=number)
        offsets.write(np.zeros(1, np.int64).tobytes())
        for size, found in encode_all(texts, tokenizer, way):
            ids.write(found)
            row = np.frombuffer(found, dtype(tokenizer))
            offsets.write((total + 1 + np.flatnonzero(row == EOS)).tobytes())
            total += len(row)
            bar.advance(task, size)
        ids.write(np.full(1, PAD, dtype(tokenizer)).tobytes())


def read_ids(tokenizer: Tokenizer, folder: Path) -> Ragged:
    """What write_ids has written, mapped into memory."""
    ids = mapped(folder / "ids", dtype(tokenizer))
    return Ragged(ids, mapped(folder / "offsets", np.dtype(np.int64)))


def mapped(path: Path, kind: np.dtype[Any]) -> np.ndarray:
    """The numbers of a file, mapped into memory."""
    with path.open("rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return np.frombuffer(pages, kind)


def let_go(rows: Ragged) -> None:
    """Take mapped pages out of this process's memory.

    The system keeps them, and gives them back when they are read.
    """
    for array in (rows.ids, rows.offsets):
        pages = getattr(array.base, "obj", None)
        if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)


def own_cores() -> int:
    """How many cores this process may use, of those that there are."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def encode_all(
    texts: Iterable[str], tokenizer: Tokenizer, way: str
) -> Iterator[tuple[int, bytes]]:
    """The ids of block after block, by as many processes as there are cores.

    A tokenizer of a class of one's own, for which there is no way, is used
    here, by this process alone.
    """
    some = blocks(texts, BLOCK)
    code = dtype(tokenizer).char
    if not way:
        for block in some:
            rows = chain.from_iterable(map(tokenizer.encode, block))
            yield len(block), np.fromiter(rows, code).tobytes()
        return
    number = min(own_cores(), MOST)
    with ExitStack() as stack:
        free: SimpleQueue[Encode] = SimpleQueue()
        for _ in range(number):
            one = started(tokenizer.model, way, code, EOS)
            free.put(stack.enter_context(one))
        threads = stack.enter_context(ThreadPoolExecutor(number))

        def encode(block: list[str]) -> tuple[int, bytes]:
            one = free.get()
            try:
                return len(block), one(block)
            finally:
                free.put(one)

        coming: deque[Any] = deque()
        for block in some:
            coming.append(threads.submit(encode, block))
            if len(coming) > 2 * number:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


@contextmanager
def started(*given: object) -> Iterator[Encode]:
    """A process that encodes blocks of texts; see encoding_process.py."""
    words = [sys.executable, "-P", encoding_process.__file__]
    process = Popen(words, stdin=PIPE, stdout=PIPE)
    going, coming = cast(Any, process.stdin), cast(Any, process.stdout)

    def encode(block: list[str]) -> bytes:
        try:
            pickle.dump(block, going)
            going.flush()
            found: bytes = pickle.load(coming)
            return found
        except (OSError, EOFError) as error:
            raise UserError(
                "a process that cut the text into subwords has ended; there "
                "may be too little memory for one on each core"
            ) from error

    try:
        pickle.dump(given, going)
        yield encode
    finally:
        with suppress(OSError):
            going.close()
        coming.close()
        process.wait()
