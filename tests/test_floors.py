"""The floors of the package: which wing may import which."""

import ast
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
    "corpora": {"chapters", "system", "errors"},
    "convert": {"chapters", "storage", "text", "system", "errors"},
    "text": {"chapters", "errors"},
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
    ("translation", "text.casing"): "capitals are read as a sentence",
    ("translation", "text.sentences"): "one by one, where a model needs it",
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


def imported(source: str) -> Iterator[str]:
    """The modules of the package that a source imports, anywhere in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level == 1:
                continue  # a neighbour in the same folder
            assert not node.level, "an import names its module in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, *parts = name.split(".")
            if package == NAME:
                yield module_of(parts)


def module_of(parts: list[str]) -> str:
    """The module that a dotted name stands in: the name may be a function."""
    while parts:
        path = chapters.PACKAGE.joinpath(*parts)
        if path.is_dir() or path.with_suffix(".py").exists():
            return ".".join(parts)
        parts = parts[:-1]
    return "__init__"


def upward(module: str, source: str) -> set[tuple[str, str]]:
    """The imports by which a module stands on what is not below it."""
    below = {wing(module), *FLOORS[wing(module)]}
    return {
        (module, used) for used in imported(source) if wing(used) not in below
    }


def modules() -> Iterator[tuple[str, str]]:
    """Every module by its name below the package, and its source."""
    for path in sorted(chapters.PACKAGE.rglob("*.py")):
        parts = path.relative_to(chapters.PACKAGE).with_suffix("").parts
        if len(parts) > 1 and parts[-1] == "__init__":
            parts = parts[:-1]
        yield ".".join(parts), path.read_text("utf-8")


def test_every_module_stands_on_floors_below():
    found = {pair for module in modules() for pair in upward(*module)}
    assert found == EXCEPTIONS.keys()
