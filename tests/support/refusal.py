"""What a command says when it refuses: one line, and nothing else."""

from typing import NamedTuple


class Ended(NamedTuple):
    """How a command ended: exit status, standard output and error."""

    status: int
    out: str
    err: str


def refused(ended: Ended, *parts: object) -> None:
    """One line on standard error that says all of the parts; status 1.

    A training that has begun has named its device before.
    """
    assert ended.status == 1
    assert ended.out == ""
    *before, last = ended.err.splitlines()
    assert last.startswith("error: ")
    assert not before or before[0].startswith("training on ")
    for part in parts:
        assert str(part) in ended.err
