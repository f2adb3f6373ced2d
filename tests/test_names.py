"""No old name is left anywhere, and no public name means two things."""

import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import chapters
import pytest

# Old names of files outside the package: `/` stands for a dot as well.
FILES = [
    "_ext/exported",
    "_ext/frame",
    "annotated_book",
    "figures/draw",
    "map.svg",
    "page_model",
    "pageModel",
    "translator/page",
    "translator/search",
]
# Old names of the package's modules, which stood side by side.
MODULES = (
    "alignment augmentation averaging batching checkpoint cli cli_train "
    "cli_translate cpu devices distributed download exercises files grammar "
    "kernels ledger limits loop marian memory options options_train pending "
    "plan plotting preparation pretrained recipes records resplitting run "
    "runfolder scoring streams tensors terminal"
)
# and those of the experiments
EXPERIMENTS = (
    "beams captions circles compare engine failures lengths modern more_text "
    "narrow parsing penalty picks pretraining pronouns recurrence risk scores "
    "small_data strings transfer translators treebank variations vocabulary "
    "warmup"
)
FILES += [f"annotated_transformer/{name}" for name in MODULES.split()]
FILES += [f"experiments/{name}" for name in EXPERIMENTS.split()]
FILES += [f"runs/{name}.json" for name in EXPERIMENTS.split()]
FILES += [f"--only {name}" for name in EXPERIMENTS.split()]
# Ways to speak of a page of the book by its name, and by its label.
BY_NAME = ("book/{}", "{}.ipynb", "{}.md", "{}.html", "{{doc}}`{}`")
BY_NAME += ("<{}>`", "chapter: {}")
BY_LABEL = ("{{ref}}`{}`", "<{}>`", "({})=")
HOLDERS = ("book/_ext/addresses.py", "tests/test_names.py")


@pytest.fixture
def old_pages(monkeypatch) -> list[str]:
    """Every way to speak of a page that has moved."""
    monkeypatch.syspath_prepend(chapters.BOOK / "_ext")
    import addresses

    stems = [Path(page).name for page in addresses.MOVED]
    labels = [stem.replace("_", "-") for stem in stems]
    return [
        *(way.format(stem) for way in BY_NAME for stem in stems),
        *(way.format(label) for way in BY_LABEL for label in labels),
    ]


def sources() -> Iterator[tuple[str, str]]:
    """The path and the text of every file but records and the tables."""
    patterns = ("*.*", "Makefile", ".ci/*", ".github/**/*", "book/**/*")
    patterns += ("annotated_transformer/**/*", "benchmarks/*", "tools/*")
    patterns += ("experiments/**/*", "tests/**/*")
    kinds = {".css", ".html", ".ipynb", ".js", ".md", ".py", ".svg", ".toml"}
    kinds |= {".yaml", ".yml", ""}
    for path in {p for g in patterns for p in chapters.ROOT.glob(g)}:
        name = path.relative_to(chapters.ROOT).as_posix()
        if path.is_file() and path.suffix in kinds and name not in HOLDERS:
            yield name, path.read_text("utf-8")


def found(old: list[str], text: str) -> list[str]:
    """The old names that a text holds, as whole words."""
    either = "|".join(re.escape(n).replace("/", "[/.]") for n in old)
    return re.findall(rf"(?<!\w)(?:{either})(?!\w)", text)


def test_no_old_name_is_left(old_pages):
    old = [*old_pages, *FILES]
    left = {name: found(old, text) for name, text in sources()}
    assert len(left) > 200
    assert {name: names for name, names in left.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "is_old"),
    [
        ("see book/words.ipynb", True),
        ("see {doc}`words` and", True),
        ("see {ref}`often said <often-said>`", True),
        ("  chapter: tables\n", True),
        ("import page_model", True),
        ("python book/figures/draw.py", True),
        ("of `words`, source to target", False),
        ("see {doc}`subwords` and {ref}`paper-tables`", False),
        ("a cell is exported; a frame", False),
    ],
)
def test_an_old_name_is_told_from_a_word(old_pages, text, is_old):
    assert bool(found([*old_pages, *FILES], text)) == is_old


# What every file of a kind has: the exercises of a chapter, an experiment's
# text, its settings and its runs. A command is called what it calls.
OF_A_KIND = {"EXERCISES", "RECIPE", "RUNS", "corpus"}


def exported() -> Iterator[tuple[str, str, object]]:
    """What the package and the experiments export: module, name, object."""
    for folder in (chapters.PACKAGE, chapters.ROOT / "experiments"):
        for path in sorted(folder.rglob("*.py")):
            *parts, last = path.relative_to(chapters.ROOT).parts
            stem = last.removesuffix(".py")
            name = ".".join([*parts, *[stem] * (stem != "__init__")])
            if stem != "__main__" and "commands" not in parts:
                module = import_module(name)
                for public in getattr(module, "__all__", ()):
                    yield name, public, getattr(module, public)


def test_no_public_name_means_two_things():
    homes = defaultdict(list)
    for module, name, value in exported():
        homes[name].append((module, value))
    assert len(homes) > 300 and homes.keys() >= OF_A_KIND
    twice = {
        name: [module for module, _ in found]
        for name, found in homes.items()
        if any(value is not found[0][1] for _, value in found)
    }
    assert {n: m for n, m in twice.items() if n not in OF_A_KIND} == {}
