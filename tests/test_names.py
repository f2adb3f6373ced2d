"""No public name means two things."""

import ast
from collections import defaultdict
from importlib.util import resolve_name

import chapters

# What every file of a kind has: the exercises of a chapter, an experiment's
# text, its settings, the recipe that it varies, the claims that it waits for
# and its runs. A command is called what it calls.
OF_A_KIND = {"BASE", "CLAIMS", "EXERCISES", "RECIPE", "RUNS", "corpus"}


def defined(tree: ast.Module) -> dict[str, ast.AST]:
    """The names that a module defines; imported ones are not."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            names = (x.id for x in node.targets if isinstance(x, ast.Name))
            found |= dict.fromkeys(names, node.value)
    return found


def test_no_public_name_means_two_things():
    """Public is what `__all__` has, or what another folder imports."""
    trees, public, homes = {}, defaultdict(set), defaultdict(list)
    ledger = chapters.BOOK / "ledger"
    for folder in (chapters.PACKAGE, chapters.ROOT / "experiments", ledger):
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            name = ".".join(parts).removesuffix(".__init__")
            trees[name] = ast.parse(path.read_text("utf-8"))
            above = ".".join(parts[:-1])
            for node in ast.walk(trees[name]):
                if isinstance(node, ast.ImportFrom) and node.level != 1:
                    home = f"{'.' * node.level}{node.module or ''}"
                    home = resolve_name(home, above)
                    public[home] |= {x.name for x in node.names}
    for module, tree in trees.items():
        names = defined(tree)
        if "__all__" in names:
            given = names["__all__"].elts
            public[module] = {
                x.value for x in given if isinstance(x, ast.Constant)
            }
        if ".commands." not in module and ".__main__" not in module:
            for name in names.keys() & public[module]:
                homes[name].append(module)
    assert len(homes) > 300
    twice = {n: paths for n, paths in homes.items() if len(paths) > 1}
    assert twice.keys() <= OF_A_KIND, twice
