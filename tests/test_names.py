"""No public name means two things."""

from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module

import chapters

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
