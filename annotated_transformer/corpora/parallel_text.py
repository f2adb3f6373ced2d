"""Sentence pairs in text files, read with care.

A line is what a line feed ends. Nothing is repaired, skipped or cut in
silence: whatever a file has wrong is a `UserError` that says where it is
and how to mend it.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..system.atomic_files import write_text
from ..system.console import in_column
from ..system.text_lines import ending, read_lines

SIDES = ("source", "target")
HALF = re.compile("[\ud800-\udfff]")  # of a character: no file can hold it
Pairs = list[tuple[str, str]]
Records = Iterator[tuple[int, Any]]  # its first line, and its fields


def _refuse_empty(
    pairs: Pairs, names: Iterable[str], numbers: Sequence[int]
) -> None:
    for name, texts in zip(names, zip(*pairs, strict=True), strict=True):
        empty = [
            number
            for number, text in zip(numbers, texts, strict=True)
            if not text.strip()
        ]
        if empty:
            raise UserError(
                f"{name}, line {empty[0]}: empty ({len(empty)} in all); "
                "fill it in, or delete the line on both sides"
            )


def read_pairs(
    source_path: Path | str, target_path: Path | str, *, blank: bool = False
) -> Pairs:
    """Pair line n of one text file with line n of the other.

    UserError if one is blank, unless it may be.
    """
    sources, targets = read_lines(source_path), read_lines(target_path)
    if len(sources) != len(targets):
        raise UserError(
            f"{source_path} has {len(sources)} lines but {target_path} has "
            f"{len(targets)}; line n of one must translate line n of the other"
        )
    pairs = list(zip(sources, targets, strict=True))
    if not blank:
        names = str(source_path), str(target_path)
        _refuse_empty(pairs, names, range(1, len(pairs) + 1))
    return pairs


def fields(
    row: list[str], names: Sequence[str], where: str, advice: str
) -> dict[str, str]:
    """The columns of a row by their names."""
    if len(row) != len(names):
        raise UserError(
            f"{where}: columns: {len(row)}, not {len(names)}; {advice}"
        )
    return dict(zip(names, row, strict=True))


def tsv_records(path: Path | str) -> Records:
    """The lines of a file of two columns, with a tab between them."""
    advice = (
        "a line is a sentence, one tab, its translation, unless the file's "
        "name ends in .csv or .jsonl"
    )
    for number, line in enumerate(read_lines(path), 1):
        where = f"{path}, line {number}"
        yield number, fields(line.split("\t"), SIDES, where, advice)


def csv_records(path: Path | str) -> Records:
    """The rows below the first, which names the columns."""
    reader = csv.reader((f"{x}\n" for x in read_lines(path)), strict=True)
    advice = (
        'write "..." around a text with a comma, a line feed or quotation '
        'marks, and these twice: "The ""a"", please"'
    )
    number = 1
    try:
        header = next(reader)
        number = reader.line_num + 1
        for row in reader:
            where = f"{path}, line {number}"
            yield number, fields(row, header, where, advice)
            number = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}, line {number}: not CSV from here on ({error}); {advice}"
        ) from error


def json_records(path: Path | str) -> Records:
    """The object on each line, or what it has as its "translation"."""
    for number, line in enumerate(read_lines(path), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"{path}, line {number}: not JSON ({error!s:.200}); each line "
                "is an object, without a line feed in it"
            ) from error
        if isinstance(record, dict):  # Hugging Face has pairs in one field
            record = record.get("translation", record)
        yield number, record


READERS = {".csv": csv_records, ".jsonl": json_records}


def read_table(
    path: Path | str,
    languages: tuple[str, str] = SIDES,
    blank: bool = False,
) -> Pairs:
    """Read pairs from one file: CSV or JSON Lines by its ending, else TSV.

    The columns of a CSV file and the fields of JSON Lines have the names of
    the languages, or source and target; others are not read. TSV has two
    columns without names. UserError if a text is blank, unless it may be.
    """
    pairs: Pairs = []
    numbers, names = [], SIDES
    for number, record in READERS.get(ending(path), tsv_records)(path):
        names = names_in(record, languages, f"{path}, line {number}")
        pairs.append((record[names[0]], record[names[1]]))
        numbers.append(number)
    if not pairs:
        raise UserError(f"{path} has no pairs, only the names of columns")
    if not blank:
        _refuse_empty(pairs, [f"{path} ({name})" for name in names], numbers)
    return pairs


def names_in(
    record: object, languages: tuple[str, str], where: str
) -> tuple[str, str]:
    """The names of the fields that hold the pair; each is a text."""
    known = record if isinstance(record, dict) else {}
    for names in (languages, SIDES):
        if {*names} <= known.keys():
            break
    else:
        raise UserError(
            f"{where}: no fields {' and '.join(map(repr, languages))}, nor "
            f"'source' and 'target', in {record!r:.80}; "
            "rename them (in the first line of a CSV file), or name the "
            "languages that the file has"
        )
    for name in names:
        text = known[name]
        if not isinstance(text, str) or HALF.search(text):
            raise UserError(
                f"{where}, field {name!r}: {text!r:.40} is not a text; write "
                "a string of whole characters, or delete the line"
            )
    return names


def write_tsv(path: Path | str, pairs: Iterable[tuple[str, str]]) -> None:
    """Write pairs as read_table reads them; a tab in a text becomes a space.

    What was there stays until they are all written. UserError if they cannot
    be.
    """
    rows = ["\t".join(map(in_column, pair)) + "\n" for pair in pairs]
    write_text(Path(path), "".join(rows))


def read_parallel(
    paths: Sequence[Path | str],
    languages: tuple[str, str] = SIDES,
    blank: bool = False,
) -> Pairs:
    """Read pairs from two files of lines, or from one as `read_table` does."""
    if len(paths) == 1:
        return read_table(paths[0], languages, blank)
    if len(paths) == 2:
        return read_pairs(*paths, blank=blank)
    raise UserError(
        f"{len(paths)} files given; name a source and a target file, or one "
        "file of pairs"
    )
