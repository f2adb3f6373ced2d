"""Bundle the models' program: modules of book/in_page, as pages load them.

A page opened as a file may load no modules, so they become classic scripts.
These are kept in book/_static/in_page: who builds the book needs no node. With
--check nothing is written, and a script that its modules do not make is named.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from chapters import ROOT

MODULES = ROOT / "book" / "in_page"
BUNDLES = ROOT / "book" / "_static" / "in_page"
ESBUILD = ROOT / "tools" / "web" / "node_modules" / ".bin" / "esbuild"
FORM = ["--bundle", "--format=iife", "--target=es2023", "--charset=utf8"]
NOTE = "--banner:js=// Made by make bundle from book/in_page: edit that."
# How a page gets what a module exports: not at all, as inPage.NAME, or by
# calling inPage.NAME, a function whose own text is a worker's program.
NAMED = {
    "start": [NOTE],
    "programs": [NOTE, "--global-name=inPage.programs"],
    "learner": [
        f"{NOTE}\n(globalThis.inPage ??= {{}}).learner = () => {{",
        "--global-name=learner",
        "--footer:js=return learner;\n};",
    ],
}


def bundled(name: str, esbuild: Path = ESBUILD) -> bytes:
    """A module and all that it imports, as one classic script."""
    return subprocess.run(
        [esbuild.absolute(), f"{name}.js", *FORM, *NAMED[name]],
        cwd=MODULES,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--esbuild", type=Path, default=ESBUILD)
    given = parser.parse_args()
    if not given.esbuild.exists():
        sys.exit(f"{given.esbuild} is not there: npm ci in tools/web")
    stale = []
    for name in NAMED:
        path, made = BUNDLES / f"{name}.js", bundled(name, given.esbuild)
        if not given.check:
            path.write_bytes(made)
        elif not path.exists() or path.read_bytes() != made:
            stale.append(name)
    if stale:
        sys.exit(
            f"not what book/in_page makes: {', '.join(stale)}: make bundle"
        )


if __name__ == "__main__":
    main()
