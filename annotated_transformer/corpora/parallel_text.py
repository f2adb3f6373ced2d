"""Sentence pairs in text files, read with care.

A line is what a line feed ends. Nothing is repaired, skipped or cut in
silence: whatever a file has wrong is a `UserError` that says where it is
and how to mend it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from annotated_transformer.errors import UserError
from annotated_transformer.system.atomic_files import write_text
from annotated_transformer.system.console import in_column
from annotated_transformer.system.text_lines import read_lines

__all__ = [
    "read_pairs",
    "read_parallel",
    "read_side_by_side",
    "read_tsv",
    "write_tsv",
]


def _refuse_empty(
    pairs: list[tuple[str, str]], names: tuple[str, str]
) -> None:
    for name, lines in zip(names, zip(*pairs, strict=True), strict=True):
        empty = [n for n, line in enumerate(lines, 1) if not line.strip()]
        if empty:
            raise UserError(
                f"{name}, line {empty[0]}: empty ({len(empty)} in all); "
                "fill it in, or delete the line on both sides"
            )


def read_side_by_side(
    source_path: Path | str, target_path: Path | str
) -> list[tuple[str, str]]:
    """Line n of one text file with line n of the other, blank ones too."""
    sources, targets = read_lines(source_path), read_lines(target_path)
    if len(sources) != len(targets):
        raise UserError(
            f"{source_path} has {len(sources)} lines but {target_path} has "
            f"{len(targets)}; line n of one must translate line n of the other"
        )
    return list(zip(sources, targets, strict=True))


def read_pairs(
    source_path: Path | str, target_path: Path | str
) -> list[tuple[str, str]]:
    """Pair line n of one text file with line n of the other; none is blank."""
    pairs = read_side_by_side(source_path, target_path)
    _refuse_empty(pairs, (str(source_path), str(target_path)))
    return pairs


def read_tsv(path: Path | str) -> list[tuple[str, str]]:
    """Read pairs from lines of the form source, tab, target."""
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise UserError(
                f"{path}, line {number}: columns: {len(columns)}, not 2; "
                "a line is a sentence, one tab, its translation"
            )
        pairs.append((columns[0], columns[1]))
    _refuse_empty(pairs, (f"{path} (source)", f"{path} (target)"))
    return pairs


def write_tsv(path: Path | str, pairs: Iterable[tuple[str, str]]) -> None:
    """Write pairs as read_tsv reads them; a tab in a text becomes a space.

    What was there stays until they are all written. UserError if they cannot
    be.
    """
    rows = ["\t".join(map(in_column, pair)) + "\n" for pair in pairs]
    write_text(Path(path), "".join(rows))


def read_parallel(paths: Sequence[Path | str]) -> list[tuple[str, str]]:
    """Read pairs from two text files, or from one file of two columns."""
    if len(paths) == 1:
        return read_tsv(paths[0])
    if len(paths) == 2:
        return read_pairs(*paths)
    raise UserError(
        f"{len(paths)} files given; name a source and a target file, "
        "or one file of two columns with a tab between them"
    )
