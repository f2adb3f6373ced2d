"""No public name means two things."""

import ast
from collections import defaultdict
from pathlib import Path

import chapters

# What every file of a kind has: the exercises of a chapter, an experiment's
# text, its settings and its runs. A command is called what it calls.
OF_A_KIND = {"EXERCISES", "RECIPE", "RUNS", "corpus"}


def defined(path: Path) -> set[str]:
    """The names that a module defines and exports; imported ones are not."""
    found, exported = set(), set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {x.id for x in node.targets if isinstance(x, ast.Name)}
            if "__all__" in found and not exported:
                exported = {*ast.literal_eval(node.value)}
    return found & exported


def test_no_public_name_means_two_things():
    homes = defaultdict(list)
    for folder in (chapters.PACKAGE, chapters.ROOT / "experiments"):
        for path in folder.rglob("*.py"):
            if "commands" not in path.parts and path.stem != "__main__":
                for name in defined(path):
                    homes[name].append(path.name)
    assert len(homes) > 300
    twice = {n: paths for n, paths in homes.items() if len(paths) > 1}
    assert twice.keys() <= OF_A_KIND, twice
