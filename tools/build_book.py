"""Build the book as HTML, strictly, with nothing in it from the network."""

import argparse
import re
import shutil
import sys
import tomllib
from pathlib import Path

import nbformat
from chapters import ROOT, find_chapters, read
from jupyter_book.sphinx import build_sphinx


def build(output: Path) -> int:
    """Build from scratch, every warning an error; 0 if there was none.

    Always from scratch, because Sphinx repeats no warning about a page that
    it does not read again.
    """
    shutil.rmtree(output, ignore_errors=True)
    doctrees = output.parent / ".doctrees"
    shutil.rmtree(doctrees, ignore_errors=True)
    overrides = {
        "external_toc_path": str(ROOT / "_toc.yml"),
        "latex_individualpages": False,
        "nitpicky": True,
    }
    status = build_sphinx(
        ROOT,
        output,
        path_config=ROOT / "_config.yml",
        noconfig=True,
        confoverrides=overrides,
        doctreedir=doctrees,
        warningiserror=True,
        keep_going=True,
        quiet=True,
    )
    if status == 0:
        prune(output / "_static")
        write_colab(output.parent / "colab")
    return 1 if status else 0


def prune(static: Path) -> None:
    """Leave out what no page loads: most of what the themes bring along."""
    for pattern in UNUSED:
        for path in list(static.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for style in static.glob("styles/*.css"):
        text = style.read_text(encoding="utf-8")
        style.write_text(OLD_FONT.sub("", text), encoding="utf-8")


UNUSED = (
    "**/*.map",  # for those who debug the themes
    "**/*.ttf",  # for browsers from before 2014
    "scripts/fontawesome.js",  # the icons once more, as a script
    "locales",  # the theme in other languages
)
OLD_FONT = re.compile(r""",\s*url\([^)]+\.ttf\)\s*format\("truetype"\)""")


def write_colab(folder: Path) -> None:
    """Write the notebooks as Colab opens them, from the branch `colab`.

    There a first cell, shown as a form, fetches and installs the package.
    The notebooks of the repository stay as they are.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    repository = project["project"]["urls"]["Repository"]
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "book").mkdir(parents=True)
    for chapter in find_chapters():
        notebook = read(chapter)
        cell = nbformat.v4.new_code_cell(
            COLAB.format(repository=repository),
            id="colab",
            metadata={"cellView": "form"},
        )
        notebook.cells.insert(0, cell)
        nbformat.write(notebook, folder / "book" / chapter.name)


COLAB = """\
#@title Run this cell first: it fetches the book's package
import sys

if "google.colab" in sys.modules:
    !git clone -q --depth 1 {repository} /content/book
    %pip install -q "/content/book[notebooks]"
    %cd -q /content/book/book
"""


def main() -> int:
    """Build into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "output", nargs="?", type=Path, default=ROOT / "_build" / "html"
    )
    return build(parser.parse_args().output.resolve())


if __name__ == "__main__":
    sys.exit(main())
