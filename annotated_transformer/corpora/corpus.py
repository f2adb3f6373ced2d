"""Parallel corpora: text files read with care, Multi30k downloaded.

A line is what a line feed ends. Nothing is repaired, skipped or cut in
silence: whatever a file has wrong is a `UserError` that says where it is
and how to mend it.
"""

import hashlib
import os
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib import request

from annotated_transformer.errors import UserError, check_pairs
from annotated_transformer.system.atomic_files import read_lines
from annotated_transformer.system.download import download, https_opener

__all__ = [
    "Corpus",
    "MULTI30K_LICENCE",
    "Pair",
    "builtin",
    "copying",
    "download_multi30k",
    "multi30k",
    "pairs_sha256",
    "read_pairs",
    "read_parallel",
    "read_side_by_side",
    "read_tsv",
    "text_corpus",
]

Pair = tuple[str, str]

MULTI30K_URL = (
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
)
MULTI30K_LICENCE = (
    "Multi30k is for research and education only: "
    "its captions come from Flickr30k."
)
MULTI30K_LANGUAGES = ("en", "de", "fr")
MULTI30K_TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
LONGEST_NAME = 100  # characters
DATA_VARIABLE = "ANNOTATED_TRANSFORMER_DATA"


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs to train on, to choose a model by and to test it with."""

    train: list[Pair]
    valid: list[Pair]
    tests: dict[str, list[Pair]]
    name: str
    source: str  # language codes: 'en', 'de', ...
    target: str
    checksums: dict[str, str]  # SHA-256 of what the pairs were read from
    extra: int = 0  # pairs at the end of train that are not of the corpus

    def __post_init__(self) -> None:
        texts = {"train": self.train, "valid": self.valid, **self.tests}
        for name, pairs in texts.items():
            _refuse_halves(name, check_pairs(pairs))
        for name in (self.source, self.target):
            if not name.isprintable() or len(name) > LONGEST_NAME:
                raise UserError(
                    f"{name!r:.40}: a language is named by at most "
                    f"{LONGEST_NAME} printable characters, such as 'en'"
                )

    def with_extra(self, path: Path | str) -> "Corpus":
        """The corpus with more to train on, as `read_tsv` reads it."""
        pairs = read_tsv(path)
        return replace(
            self,
            train=self.train + pairs,
            checksums=self.checksums | {"extra": pairs_sha256(pairs)},
            extra=len(pairs),
        )


def _refuse_halves(name: str, pairs: list[Pair]) -> None:
    for place, pair in enumerate(pairs):
        try:
            "".join(pair).encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"{name}, pair {place}: half a character, "
                f"{error.object[error.start]!a}, which no file can hold; "
                "decode the text anew, with errors='replace'"
            ) from None


def _refuse_empty(pairs: list[Pair], names: tuple[str, str]) -> None:
    for name, lines in zip(names, zip(*pairs, strict=True), strict=True):
        empty = [n for n, line in enumerate(lines, 1) if not line.strip()]
        if empty:
            raise UserError(
                f"{name}, line {empty[0]}: empty ({len(empty)} in all); "
                "fill it in, or delete the line on both sides"
            )


def read_side_by_side(
    source_path: Path | str, target_path: Path | str
) -> list[Pair]:
    """Line n of one text file with line n of the other, blank ones too."""
    sources, targets = read_lines(source_path), read_lines(target_path)
    if len(sources) != len(targets):
        raise UserError(
            f"{source_path} has {len(sources)} lines but {target_path} has "
            f"{len(targets)}; line n of one must translate line n of the other"
        )
    return list(zip(sources, targets, strict=True))


def read_pairs(source_path: Path | str, target_path: Path | str) -> list[Pair]:
    """Pair line n of one text file with line n of the other; none is blank."""
    pairs = read_side_by_side(source_path, target_path)
    _refuse_empty(pairs, (str(source_path), str(target_path)))
    return pairs


def read_tsv(path: Path | str) -> list[Pair]:
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


def read_parallel(paths: Sequence[Path | str]) -> list[Pair]:
    """Read pairs from two text files, or from one file of two columns."""
    if len(paths) == 1:
        return read_tsv(paths[0])
    if len(paths) == 2:
        return read_pairs(*paths)
    raise UserError(
        f"{len(paths)} files given; name a source and a target file, "
        "or one file of two columns with a tab between them"
    )


def pairs_sha256(pairs: Sequence[Pair]) -> str:
    """Give the SHA-256 of pairs: that of `paste SOURCE TARGET | sha256sum`."""
    text = "".join(f"{source}\t{target}\n" for source, target in pairs)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def text_corpus(
    train: Sequence[Path | str],
    valid: Sequence[Path | str],
    source: str,
    target: str,
) -> Corpus:
    """Make a corpus of your own files, as `read_parallel` takes them."""
    pairs = {"train": read_parallel(train), "valid": read_parallel(valid)}
    sums = {split: pairs_sha256(pairs[split]) for split in pairs}
    train_pairs, valid_pairs = pairs.values()
    return Corpus(train_pairs, valid_pairs, {}, "text", source, target, sums)


def builtin(
    train: int = 20000, valid: int = 500, test: int = 500, seed: int = 0
) -> Corpus:
    """Make the built-in English-German corpus; the numbers count pairs."""
    from annotated_transformer.corpora.builtin import builtin_corpus

    splits = builtin_corpus(train, valid, test, seed)
    pairs = [[(x.source, x.target) for x in split] for split in splits]
    names = ("train", "valid", "test")
    sums = dict(zip(names, map(pairs_sha256, pairs), strict=True))
    tests = {"test": pairs[2]}
    return Corpus(pairs[0], pairs[1], tests, "builtin", "en", "de", sums)


def copying() -> Corpus:
    """Make the corpus of the copy task: distinct strings of letters."""
    from annotated_transformer.data import copy_task

    pairs = copy_task(21_000)
    splits = {
        "valid": pairs[:500],
        "test": pairs[500:1000],
        "train": pairs[1000:],
    }
    sums = {name: pairs_sha256(split) for name, split in splits.items()}
    tests = {"test": splits["test"]}
    train, valid = splits["train"], splits["valid"]
    return Corpus(train, valid, tests, "copy", "letters", "letters", sums)


MULTI30K_SUMS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("multi30k.toml").read_text("utf-8")
)


def multi30k_folder() -> Path:
    """Name the folder of Multi30k: the variable's, or the user's cache."""
    if named := os.environ.get(DATA_VARIABLE):
        return at_home(named, DATA_VARIABLE)
    places = {"darwin": "~/Library/Caches", "win32": "~/AppData/Local"}
    place = os.environ.get("XDG_CACHE_HOME") or places.get(
        sys.platform, "~/.cache"
    )
    cache = at_home(place, "XDG_CACHE_HOME")
    return cache / "annotated-transformer" / "multi30k"


def at_home(path: str, variable: str) -> Path:
    """The path with ~ replaced; UserError where there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UserError(
            f"{path}: no such home folder; set {variable} to a folder"
        ) from error


def download_multi30k(
    folder: Path | str | None = None,
    languages: Sequence[str] = MULTI30K_LANGUAGES,
    opener: request.OpenerDirector | None = None,
) -> Path:
    """Fetch the files of Multi30k that are absent, check all, say where."""
    folder = Path(folder) if folder else multi30k_folder()
    instead = (
        f"put the file into {folder} yourself, or set {DATA_VARIABLE} to a "
        "folder that has it"
    )
    opener = opener or https_opener()
    for name, expected in MULTI30K_SUMS.items():
        if name.split(".")[1] in languages:
            url = MULTI30K_URL + name
            download(url, folder / name, expected, instead, opener)
    return folder


def multi30k(
    source: str = "en", target: str = "de", folder: Path | str | None = None
) -> Corpus:
    """Read Multi30k (Elliott et al., 2016), downloaded where it is absent."""
    languages = source, target
    if len(set(languages) & set(MULTI30K_LANGUAGES)) < 2:
        raise UserError(
            f"Multi30k cannot translate {source!r} into {target!r}; choose "
            f"two of its languages: {', '.join(MULTI30K_LANGUAGES)}"
        )
    folder = download_multi30k(folder, languages)

    def read(split: str) -> list[Pair]:
        return read_pairs(*(folder / f"{split}.{x}.gz" for x in languages))

    train, valid = read("train"), read("val")
    tests = {split: read(split) for split in MULTI30K_TESTS}
    names = [x for x in MULTI30K_SUMS if x.split(".")[1] in languages]
    sums = {name: MULTI30K_SUMS[name] for name in names}
    return Corpus(train, valid, tests, "multi30k", source, target, sums)
