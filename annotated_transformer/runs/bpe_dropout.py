"""BPE-dropout in a process of its own, while the model computes.

To cut the text of a batch into other pieces takes longer than a GPU needs for
the batch. A thread would not help: it would hold the interpreter's lock, and
without it the training cannot launch its work. So another Python does it. Its
whole program is the chapter's class and a loop that answers: the package is
not imported there, because torch would come along, and neither is the user's
script, which a process of `multiprocessing` would run again.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from inspect import getsource
from traceback import format_exc

from annotated_transformer.data import Example, Resplit
from annotated_transformer.embedding import EOS, UNK
from annotated_transformer.errors import UserError

__all__ = ["elsewhere"]


def serve() -> None:
    """Answer questions on standard input until it ends.

    It ends when the process that asks does, in whatever way. What should
    stop a training stops that process, which may still need answers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    with suppress(EOFError, pickle.UnpicklingError, BrokenPipeError):
        resplit = Resplit(*pickle.load(questions))
        while True:
            question = pickle.load(questions)
            answer: list[Example] | Exception
            try:
                answer = resplit(*question)
            except Exception as error:
                error.add_note(format_exc())
                answer = error
            pickle.dump(answer, answers)
            answers.flush()
    os._exit(0)  # what nobody reads any more needs no flush


HEAD = f"""
from __future__ import annotations

import os, pickle, random, re, signal, sys
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from traceback import format_exc

EOS, UNK = {EOS}, {UNK}
"""


def program() -> str:
    """The text of the process's program: all that it needs, and a call."""
    parts = [HEAD, getsource(Resplit), getsource(serve), "serve()"]
    return "\n".join(parts)


@contextmanager
def elsewhere(
    resplit: Resplit,
) -> Iterator[Callable[[list[Example], str], list[Example]]]:
    """The same function as resplit, computed by a process of its own.

    The process lives as long as the context, or as this process. What is
    raised there is raised here; UserError if the process has ended.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-c", program()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # no Ctrl-C of the terminal arrives there
    ) as process:
        questions, answers = process.stdin, process.stdout
        assert questions is not None and answers is not None  # pipes

        def ask(examples: list[Example], seed: str) -> list[Example]:
            try:
                pickle.dump((examples, seed), questions)
                questions.flush()
                answer: list[Example] | Exception = pickle.load(answers)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                with suppress(OSError):
                    questions.close()
                raise UserError(
                    "the process that cuts the text for `bpe_dropout` has "
                    f"ended with status {process.wait()}; with `resume=True` "
                    "the run goes on after the last checkpoint"
                ) from error
            if isinstance(answer, Exception):
                raise answer
            return answer

        arguments = resplit.pieces, resplit.dropout, resplit.max_length
        pickle.dump(arguments, questions)
        yield ask
