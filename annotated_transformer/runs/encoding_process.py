"""Texts as ids, block by block, in a process of its own that imports little.

It is run by its path, and speaks pickles: a block of texts comes in, the
bytes of their ids go out.
"""

import pickle
import signal
import sys
from array import array
from collections.abc import Callable
from itertools import chain

from sentencepiece import SentencePieceProcessor

MOST = 2**19  # words whose ids are kept: a hundred megabytes
Encode = Callable[[list[str]], bytes]


def by_line(pieces: SentencePieceProcessor, kind: str, eos: int) -> Encode:
    """Encodes text by text, and closes each by EOS."""

    def encode(texts: list[str]) -> bytes:
        rows = pieces.encode(texts, num_threads=1)
        return b"".join([array(kind, [*row, eos]).tobytes() for row in rows])

    return encode


def running(pieces: SentencePieceProcessor, kind: str, eos: int) -> Encode:
    """Encodes lines that follow each other; an empty text stands for EOS."""

    def encode(texts: list[str]) -> bytes:
        rows = pieces.encode(texts, num_threads=1)
        ids = [
            x if text else [eos] for x, text in zip(rows, texts, strict=True)
        ]
        return array(kind, chain.from_iterable(ids)).tobytes()

    return encode


class Words(dict[str, bytes]):
    """The ids of words; those that come first are frequent, and are kept."""

    def __init__(self, pieces: SentencePieceProcessor, kind: str):
        self.pieces, self.kind = pieces, kind

    def __missing__(self, word: str) -> bytes:
        ids = array(self.kind, self.pieces.encode(word)).tobytes()
        if len(self) < MOST:
            self[word] = ids
        return ids


def by_word(pieces: SentencePieceProcessor, kind: str, eos: int) -> Encode:
    """The same as by_line, where a text is its words, one by one."""
    ids_of, end = Words(pieces, kind).__getitem__, array(kind, [eos]).tobytes()

    def encode(texts: list[str]) -> bytes:
        rows = [b"".join(map(ids_of, text.split(" "))) for text in texts]
        return end.join([*rows, b""])

    return encode


def serve() -> None:
    """Answer until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process tells
    coming, going = sys.stdin.buffer, sys.stdout.buffer
    model, way, kind, eos = pickle.load(coming)
    encode = globals()[way](
        SentencePieceProcessor(model_proto=model), kind, eos
    )
    while True:
        try:
            texts = pickle.load(coming)
        except EOFError:
            return
        pickle.dump(encode(texts), going)
        going.flush()


if __name__ == "__main__":
    serve()
