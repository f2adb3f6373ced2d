"""The floors of the package: which wing may import which."""

import ast
import re
from collections.abc import Iterator

import chapters

NAME = chapters.PACKAGE.name
# Each wing, and what it may stand on. A chapter is a module of the top level
# and may stand on earlier chapters too, which test_book.py looks after.
FLOORS = {
    "errors": set(),
    "system": {"errors"},
    "chapters": {"errors"},
    "storage": {"chapters", "system", "errors"},
    "corpora": {"text", "chapters", "system", "errors"},
    "convert": {"chapters", "storage", "text", "system", "errors"},
    "text": {"chapters", "system", "errors"},
    "pairs": {"storage", "text", "chapters", "system", "errors"},
    "runs": {"storage", "corpora", "text", "chapters", "system", "errors"},
    "teaching": {"chapters", "corpora", "errors"},
}
FLOORS["commands"] = FLOORS["runs"] | {"runs", "pairs", "convert"}
FLOORS["root"] = FLOORS["commands"] | {"commands"}
EXCEPTIONS = {
    ("translation", "storage.model_folder"): "a translator is loaded by name",
    ("writing", "storage.model_folder"): "and so is a writer",
    ("translation", "storage.history"): "with the search of its scores",
    ("data", "text.normalization"): "the rules that a tokenizer gets",
    ("translation", "text.reading"): "how a translator reads a line",
    ("writing", "text.documents"): "and a language model a text",
    ("translation", "text.checks"): "what it says of a doubtful one",
    ("translation", "text.emphasis"): "and which words it sets in capitals",
    ("text.checks", "storage.history"): "which texts a model has learned from",
    ("translation", "text.languages"): "how BLEU finds words in a line",
    ("risk", "text.languages"): "the same for a sentence",
    ("__init__", "teaching.exercises"): "readers write `check_exercise(...)`",
    ("commands.app", "__init__"): "--version",
    ("commands.curve", "teaching.plotting"): "drawn as in the book",
}


def wing(module: str) -> str:
    """The wing of a module, by its name below the package."""
    first = module.partition(".")[0]
    if first in ("__init__", "__main__"):
        return "root"
    return first if first in FLOORS else "chapters"


def imported(module: str, source: str) -> Iterator[str]:
    """The modules of the package that a source imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert not any(x.name.startswith(NAME) for x in node.names)
        if not isinstance(node, ast.ImportFrom):
            continue
        package, _, found = (node.module or "").partition(".")
        folder = module.rpartition(".")[0]
        if folder and node.level == 1:  # a neighbour
            yield f"{folder}.{node.module}"
        elif node.level:  # with a dot more for each folder up to the package
            assert node.level == 1 + module.count("."), module
            yield node.module or "__init__"
        elif package == NAME:
            yield found or "__init__"


def modules() -> Iterator[tuple[str, str]]:
    """Every module by its name below the package, and its source."""
    for path in chapters.PACKAGE.rglob("*.py"):
        parts = path.relative_to(chapters.PACKAGE).with_suffix("").parts
        yield ".".join(parts), path.read_text("utf-8")


def test_nothing_stands_on_what_lies_beside_the_package():
    """The ledger, tools and experiments are no part of what is installed."""
    beside = {"ledger", "tools", "experiments", "benchmarks", "tests"}
    for module, source in modules():
        for node in ast.walk(ast.parse(source)):
            names = []
            if isinstance(node, ast.Import):
                names = [x.name for x in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            used = {name.partition(".")[0] for name in names}
            assert not used & beside, module


def test_every_module_stands_on_floors_below():
    found = set()
    for module, source in modules():
        below = {wing(module), *FLOORS[wing(module)]}
        used = imported(module, source)
        found |= {(module, x) for x in used if wing(x) not in below}
    assert found == EXCEPTIONS.keys()


def test_the_page_of_modules_names_every_module():
    page = (chapters.BOOK / "toolkit_modules.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)", page, re.MULTILINE))
    for name in FLOORS.keys() - {"errors", "chapters", "root", "commands"}:
        named = {*re.findall(r"\*\*`(\w+)`\*\*", rows[name])}
        inside = {
            path.stem
            for path in (chapters.PACKAGE / name).iterdir()
            if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        others = {"console", "machine", "memory", "signals"}  # in one word
        found = {x for x in inside if not x.startswith("__")} - named
        assert found == (others if name == "system" else set()), name
        assert named - inside <= {"check_exercise", "pretrained"}, name
