"""Multi30k (Elliott et al., 2016): downloaded once, checked, and read."""

import os
import tomllib
from collections.abc import Collection
from pathlib import Path

import pooch

from ..errors import UserError
from .corpus import Corpus
from .parallel_text import read_parallel

MULTI30K_URL = (
    "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
)
MULTI30K_LANGUAGES = ("en", "de", "fr")
MULTI30K_TESTS = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
DATA_VARIABLE = "ANNOTATED_TRANSFORMER_DATA"
MULTI30K_SUMS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("multi30k.toml").read_text("utf-8")
)


def fetch(url: str, sums: dict[str, str], folder: str = "") -> list[Path]:
    """Have files of these SHA-256 there, each whole or not at all.

    They are where ANNOTATED_TRANSFORMER_DATA says, or in the user's cache. A
    file of another sum stays as it is. UserError for one, and where there is
    no network.
    """
    cache = pooch.os_cache("annotated-transformer") / "multi30k"
    place = Path(os.environ.get(DATA_VARIABLE) or cache).expanduser() / folder
    store = pooch.create(place, url, registry=sums, allow_updates=False)
    # no redirect is followed, so none leads away from HTTPS
    downloader = pooch.HTTPDownloader(allow_redirects=False)
    for name in sums:
        try:
            store.fetch(name, downloader=downloader)
        except (OSError, ValueError) as error:  # requests' own are OSErrors
            if (path := place / name).exists():
                raise UserError(
                    f"{path} cannot be used: it is unreadable, or its SHA-256 "
                    f"is not {sums[name]}; delete it, then run the command "
                    "again"
                ) from error
            # of what requests wraps, the reason
            why = getattr(error.args and error.args[0], "reason", error)
            raise UserError(
                f"{url}{name} could not be downloaded ({why!s:.300}); run "
                f"the command again, put the file into {place} yourself, or "
                f"set {DATA_VARIABLE} to a folder that has it"
            ) from error
    return [place / name for name in sums]


def of_languages(
    sums: dict[str, str], languages: Collection[str]
) -> dict[str, str]:
    """Those of files such as train.de.gz that are of these languages."""
    return {x: sums[x] for x in sums if x.split(".")[-2] in languages}


def multi30k(source: str = "en", target: str = "de") -> Corpus:
    """Read Multi30k (Elliott et al., 2016), downloaded where it is absent.

    Its files are where ANNOTATED_TRANSFORMER_DATA says, or in the user's
    cache.
    """
    languages = source, target
    if len(set(languages) & set(MULTI30K_LANGUAGES)) < 2:
        raise UserError(
            f"Multi30k cannot translate {source!r} into {target!r}; choose "
            f"two of its languages: {', '.join(MULTI30K_LANGUAGES)}"
        )
    sums = of_languages(MULTI30K_SUMS, languages)
    paths = {path.name: path for path in fetch(MULTI30K_URL, sums)}

    def read(split: str) -> list[tuple[str, str]]:
        return read_parallel([paths[f"{split}.{x}.gz"] for x in languages])

    train, valid = read("train"), read("val")
    tests = {split: read(split) for split in MULTI30K_TESTS}
    return Corpus(train, valid, tests, "multi30k", source, target, sums)
