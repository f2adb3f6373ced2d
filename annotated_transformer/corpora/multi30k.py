"""Multi30k (Elliott et al., 2016): downloaded once, checked, and read."""

import os
import tomllib
from collections.abc import Sequence
from pathlib import Path
from urllib import request

from platformdirs import user_cache_path

from annotated_transformer.corpora.corpus import Corpus
from annotated_transformer.corpora.parallel_text import read_pairs
from annotated_transformer.errors import UserError
from annotated_transformer.system.download import download, https_opener

__all__ = ["download_multi30k", "multi30k"]

MULTI30K_URL = (
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
)
MULTI30K_LANGUAGES = ("en", "de", "fr")
MULTI30K_TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
DATA_VARIABLE = "ANNOTATED_TRANSFORMER_DATA"
MULTI30K_SUMS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("multi30k.toml").read_text("utf-8")
)


def download_multi30k(
    folder: Path | str | None = None,
    languages: Sequence[str] = MULTI30K_LANGUAGES,
    opener: request.OpenerDirector | None = None,
) -> Path:
    """Fetch the files of Multi30k that are absent, check all, say where.

    Without a folder that is where ANNOTATED_TRANSFORMER_DATA says, or else
    the user's cache.
    """
    cache = user_cache_path("annotated-transformer", appauthor=False)
    named = folder or os.environ.get(DATA_VARIABLE) or cache / "multi30k"
    folder = Path(os.path.expanduser(named))
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

    def read(split: str) -> list[tuple[str, str]]:
        return read_pairs(*(folder / f"{split}.{x}.gz" for x in languages))

    train, valid = read("train"), read("val")
    tests = {split: read(split) for split in MULTI30K_TESTS}
    names = [x for x in MULTI30K_SUMS if x.split(".")[1] in languages]
    sums = {name: MULTI30K_SUMS[name] for name in names}
    return Corpus(train, valid, tests, "multi30k", source, target, sums)
