"""What the tools agree on: where chapters lie and how they are stored."""

import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
PACKAGE = ROOT / "annotated_transformer"


def find_chapters(book: Path = BOOK) -> list[Path]:
    """Every notebook of the book, in reading order."""
    return sorted(book.glob("*.ipynb"))


def module_name(chapter: Path) -> str:
    """The module a chapter builds: `01_attention.ipynb`, `attention`."""
    number, _, stem = chapter.stem.partition("_")
    return stem if number.isdigit() else chapter.stem


def chapter_of(name: str, book: Path = BOOK) -> Path:
    """The chapter of a number, a stem or a module: 10, 10_decoding, decoding.

    SystemExit if there is none.
    """
    chapters = find_chapters(book)
    for chapter in chapters:
        names = {chapter.stem, module_name(chapter)}
        number = chapter.stem.partition("_")[0]
        if number.isdigit():
            names |= {number, str(int(number))}
        if name in names:
            return chapter
    known = " ".join(chapter.stem for chapter in chapters)
    raise SystemExit(f"no chapter is {name!r}: there are {known}")


def read(chapter: Path) -> NotebookNode:
    """A notebook, checked against the format's schema."""
    notebook = nbformat.read(chapter, as_version=4)
    nbformat.validate(notebook)
    return notebook


def write(notebook: NotebookNode, chapter: Path) -> None:
    """Store a notebook with nothing of this machine or moment in it."""
    notebook.metadata["kernelspec"] = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.metadata.pop("jupytext", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/svg+xml" in data:  # one line, as a diff shows it
                data["image/svg+xml"] = " ".join(data["image/svg+xml"].split())
    nbformat.write(notebook, chapter)


def ruff_format(*paths: Path) -> None:
    """Format notebooks or modules in place, as `make lint` expects them.

    Raises CalledProcessError where ruff cannot parse a file.
    """
    command = [sys.executable, "-m", "ruff", "format", "--quiet"]
    subprocess.run([*command, *map(str, paths)], check=True)
