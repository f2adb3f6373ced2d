"""Sentence pairs in text files, read with care.

A line is what a line feed ends. Nothing is repaired, skipped or cut in
silence: whatever a file has wrong is a `UserError` that says where it is
and how to mend it.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from ..errors import UserError
from ..system.atomic_files import write_text
from ..system.console import in_column
from ..system.text_lines import ending, is_blank, lines_of
from ..text.languages import language_in

Names = tuple[str, str]
SIDES = ("source", "target")
HALF = re.compile("[\ud800-\udfff]")  # of a character: no file can hold it
Pairs = list[tuple[str, str]]
# of each its first line, and its fields: names and what they hold
Records = Iterator[tuple[int, Sequence[tuple[str, Any]]]]


def filled(
    numbered: Iterable[tuple[int, tuple[str, str]]], names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The pairs; UserError, behind the last one, if a side of one is blank.

    Each comes with its line. The names are those of the sides.
    """
    empty: dict[int, list[int]] = {0: [], 1: []}
    for number, pair in numbered:
        for side in empty:
            if is_blank(pair[side]):
                empty[side].append(number)
        yield pair
    for side, numbers in empty.items():
        if numbers:
            raise UserError(
                f"{names[side]}, line {numbers[0]}: empty ({len(numbers)} in "
                "all); fill it in, or delete the line on both sides"
            )


def refuse_titles(row: Sequence[str], languages: Names, where: str) -> None:
    """UserError if a first pair names what is below, as English, German."""
    titles = [{*map(str.casefold, names)} for names in (languages, SIDES)]
    named = [language_in(x) for x in row if len(x.split()) < 4]
    if {x.strip().casefold() for x in row} in titles or (
        len(named) == 2 and all(named) and named[0] != named[1]
    ):
        raise UserError(
            f"{where}: {' and '.join(row)!r:.80} seem to be names of columns, "
            "which only CSV has; delete the line, and see that the source "
            "stands first"
        )


def line_pairs(
    source_path: str, target_path: str, languages: Names
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Line n of one file with line n of the other, and n."""
    sides = lines_of(source_path), lines_of(target_path)
    for number, (source, target) in enumerate(zip_longest(*sides), 1):
        if source is None or target is None:
            less = number - 1
            more = number + sum(1 for side in sides for _ in side)
            counts = (less, more) if source is None else (more, less)
            raise UserError(
                f"{source_path} has {counts[0]} lines but {target_path} has "
                f"{counts[1]}; line n of one must translate line n of the "
                "other"
            )
        if number == 1:
            where = f"{source_path} and {target_path}, line 1"
            refuse_titles((source, target), languages, where)
        yield number, (source, target)


def find_names(
    known: list[str], languages: Names, where: str, kind: str
) -> Names:
    """The names of those of the columns, or fields, that hold the pair."""
    for names in (languages, SIDES):
        if {*names} <= {*known}:
            break
    else:
        told = ", ".join(f"{name!r:.40}" for name in known) or "none"
        raise UserError(
            f"{where}: no {kind} {' and '.join(map(repr, languages))}, nor "
            f"'source' and 'target', only {told}; rename them, or name the "
            "languages that the file has"
        )
    for name in names:
        if (times := known.count(name)) > 1:
            raise UserError(
                f"{where}: {times} {kind} are named {name!r}; keep the one "
                "that counts, and delete or rename the others"
            )
    return names


def check_columns(row: list[str], number: int, where: str, told: str) -> None:
    """UserError unless a row has that number of columns."""
    if len(row) != number:
        raise UserError(f"{where}: columns: {len(row)}, not {number}; {told}")


def tsv_records(path: Path | str, languages: Names) -> Records:
    """The lines of a file of two columns, with a tab between them.

    UserError for what belongs to CSV: a first line of names, and quotation
    marks that are doubled, if all that the file has are written so.
    """
    told = (
        "a line is a sentence, one tab, its translation, unless the file's "
        "name ends in .csv, .jsonl or .json"
    )
    as_csv, doubled = True, ""
    for number, line in enumerate(lines_of(path), 1):
        where, row = f"{path}, line {number}", line.split("\t")
        if not line:
            raise UserError(f"{where}: it is empty; delete it")
        check_columns(row, 2, where, told)
        if number == 1:
            refuse_titles(row, languages, where)
        for text in (text for text in row if '"' in text):
            inner = text[1:-1]
            as_csv &= text == f'"{inner}"' and '"' not in inner.replace(
                '""', ""
            )
            if as_csv and '""' in inner and not doubled:
                doubled = f"{where}: in {text!r:.40} quotation marks are"
        yield number, [*zip(SIDES, row, strict=True)]
    if as_csv and doubled:
        raise UserError(
            f"{doubled} doubled, as in CSV; leave out those around the text, "
            "and write the others once, in all lines"
        )


def csv_records(path: Path | str, languages: Names) -> Records:
    """The rows below the first, which names the columns.

    What separates these, a comma, a semicolon or a tab, separates all.
    """
    lines = (f"{x}\n" for x in lines_of(path))
    first = next(lines)
    titles = first.rstrip().replace('"', "")
    signs = (
        sign
        for sign in ",;\t"
        for names in (languages, SIDES)
        if {*names} <= {*map(str.strip, titles.split(sign))}
    )
    sign = next(signs, ",")
    reader = csv.reader(chain([first], lines), delimiter=sign, strict=True)
    told = (
        f'write "..." around a text with {sign!r}, a line feed or quotation '
        'marks, and these twice: "The ""a"", please"'
    )
    number = 1
    try:
        header = [title.strip() for title in next(reader)]
        find_names(header, languages, f"{path}, line 1", "columns")
        number = reader.line_num + 1
        for row in reader:
            check_columns(row, len(header), f"{path}, line {number}", told)
            yield number, [*zip(header, row, strict=True)]
            number = reader.line_num + 1
    except csv.Error as error:
        raise UserError(
            f"{path}, line {number}: not CSV from here on ({error}); {told}"
        ) from error


def json_records(path: Path | str, languages: Names) -> Records:
    """The object on each line, or what it has as its "translation"."""
    array = UserError(
        f"{path} is a JSON array; write each of its objects on a line, for "
        f"example with jq -c '.[]' {path} > pairs.jsonl"
    )
    for number, line in enumerate(lines_of(path), 1):
        where = f"{path}, line {number}"
        try:
            # as its items: of equal names a dictionary keeps the last
            record = json.loads(line, object_pairs_hook=tuple)
        except (ValueError, RecursionError) as error:
            if number == 1 and line.startswith("["):
                raise array from error
            told = str(error)
            if isinstance(error, json.JSONDecodeError):  # whose line is 1
                told = f"{error.msg}, character {error.colno}"
            raise UserError(
                f"{where}: not JSON ({told:.200}); each line is an object, "
                "without a line feed in it"
            ) from error
        if not isinstance(record, tuple):
            if isinstance(record, list) and tuple in map(type, record):
                raise array
            raise UserError(
                f"{where}: {line:.80} is not an object, such as "
                f'{{"{languages[0]}": "...", "{languages[1]}": "..."}}'
            )
        # Hugging Face has pairs in one field
        inner = [x for name, x in record if name == "translation"]
        if len(inner) == 1 and isinstance(inner[0], tuple):
            (record,) = inner
        yield number, record


READERS = {".csv": csv_records} | dict.fromkeys(
    (".jsonl", ".json"), json_records
)


def table_pairs(
    path: Path | str, languages: Names, sides: list[str]
) -> Iterator[tuple[int, tuple[str, str]]]:
    """The pairs of a table, each with its first line; names the sides.

    CSV or JSON Lines by its ending, else TSV.
    """
    reader = READERS.get(ending(path), tsv_records)
    for number, record in reader(path, languages):
        where = f"{path}, line {number}"
        names = find_names([x for x, _ in record], languages, where, "fields")
        sides[:] = [f"{path} ({name})" for name in names]
        known = dict(record)
        for name in names:
            text = known[name]
            if not isinstance(text, str) or HALF.search(text):
                raise UserError(
                    f"{where}, field {name!r}: {text!r:.40} is not a text; "
                    "write a string of whole characters, or delete the line"
                )
        yield number, (known[names[0]], known[names[1]])
    if not sides:
        raise UserError(f"{path} has no pairs, only the names of columns")


def write_tsv(path: Path | str, pairs: Iterable[tuple[str, str]]) -> None:
    """Write pairs as read_parallel reads them; a tab within becomes a space.

    What was there stays until they are all written. UserError if they cannot
    be.
    """
    rows = ["\t".join(map(in_column, pair)) + "\n" for pair in pairs]
    write_text(Path(path), "".join(rows))


def read_parallel(
    paths: Sequence[Path | str],
    languages: Names = SIDES,
    blank: bool = False,
) -> Pairs:
    """Read pairs from two files of lines, or from one: a table.

    Line n of one text file translates line n of the other. A table is CSV or
    JSON Lines by its ending, else TSV. The columns of a CSV file and the
    fields of JSON Lines have the names of the languages, or source and target;
    others are not read. TSV has two columns without names. UserError if a text
    is blank, unless it may be.
    """
    return [*stream_parallel(paths, languages, blank)]


def stream_parallel(
    paths: Sequence[Path | str],
    languages: Names,
    blank: bool = False,
) -> Iterator[tuple[str, str]]:
    """The same pairs one by one; what is wrong is said when it is reached."""
    names: list[str] = []  # how an error calls the sides
    if len(paths) == 1:
        numbered = table_pairs(paths[0], languages, names)
    elif len(paths) == 2:
        names += map(str, paths)
        numbered = line_pairs(names[0], names[1], languages)
    else:
        raise UserError(
            f"{len(paths)} files given; name a source and a target file, or "
            "one file of pairs"
        )
    return (pair for _, pair in numbered) if blank else filled(numbered, names)
