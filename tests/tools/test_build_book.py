"""A book that is built again, or by many, is what it would be otherwise.

And it is built as strictly: no warning is lost.
"""

import io
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr
from multiprocessing import get_context
from pathlib import Path

import build_book
import pytest
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
    writes,
)

CONFIG = """
title: A small book
only_build_toc_files: true
execute: {execute_notebooks: "off"}
sphinx:
  config:
    use_multitoc_numbering: true
    extensions:
      - myst_nb
      - jupyter_book
      - sphinx_comments
      - sphinx_external_toc
      - sphinx_book_theme
      - sphinx_jupyterbook_latex
      - sphinx_multitoc_numbering
      - page_rules
      - side_by_side
      - section_search
      - edition
"""
# of other packages' old ways with docutils
pytestmark = pytest.mark.filterwarnings("ignore")
TOC = """
format: jb-book
root: book/intro
parts:
  - numbered: true
    chapters:
"""
LETTERS = "abcdefg"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A book of eight pages: a page `a` with a label, `b` to `g` refer to."""
    root = tmp_path / "root"
    for name in ("book/claims", "book/_ext", "annotated_transformer"):
        (root / name).mkdir(parents=True)
    pages = "".join(f"      - file: book/{x}\n" for x in LETTERS)
    (root / "_toc.yml").write_text(TOC + pages)
    (root / "_config.yml").write_text(CONFIG)
    (root / "pyproject.toml").write_text("")
    (root / "book/_ext/rule.py").write_text("")
    (root / "book/claims/a.yml").write_text("claim: 1")
    page(root, "intro").write_text("# Intro\n\nWords.\n")
    page(root, "a").write_text("(here)=\n# There\n\n## Part\n\nWords.\n")
    for x in LETTERS[1:]:
        page(root, x).write_text(f"(page-{x})=\n# Page {x}\n\n{{ref}}`here`\n")
    output = new_output("stream", name="stdout", text="0.25")
    cell = new_code_cell("print(1 / 4)", outputs=[output])
    notebook = new_notebook(cells=[new_markdown_cell("# Words"), cell])
    (root / "book/lab.ipynb").write_text(writes(notebook))
    return root


def page(root: Path, name: str) -> Path:
    return root / "book" / f"{name}.md"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def built(folder: Path) -> dict[str, bytes]:
    """All files of a built book, and what is put beside them.

    But what Sphinx keeps to see whether settings have changed: in one process
    they grow from build to build.
    """
    apart = {".doctrees", ".buildinfo"}
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not apart & {*path.parts}
    }


def times_read(folder: Path) -> dict[str, int]:
    """When each page was read."""
    trees = (folder / ".doctrees").rglob("*.doctree")
    return {path.stem: path.stat().st_mtime_ns for path in trees}


@pytest.fixture(scope="module")
def build() -> Iterator[Callable[[Path, Path, int], tuple[int, str]]]:
    """Builds a book: the status, and what was warned of.

    In a process of its own, since an extension goes through all objects, and
    some that other tests leave behind cannot be looked at.
    """
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        yield lambda *words: process.submit(build_and_tell, *words).result()


def build_and_tell(output: Path, root: Path, jobs: int) -> tuple[int, str]:
    with redirect_stderr(io.StringIO()) as told:
        return build_book.build(output, root, jobs), told.getvalue()


def test_second_build_reads_what_changed_and_writes_the_same(
    root: Path, tmp_path: Path, build: Callable
):
    """And what two processes write is what one writes."""
    again, fresh = tmp_path / "again", tmp_path / "fresh"
    assert build(again / "html", root, 2) == (0, "")
    before = times_read(again)
    edit(page(root, "a"), "There", "Elsewhere")
    edit(page(root, "a"), "## Part", "## Another\n\nMore.\n\n## Part")
    assert build(again / "html", root, 2) == (0, "")
    after = times_read(again)
    assert [x for x in after if after[x] != before[x]] == ["a"]
    assert build(fresh / "html", root, 1) == (0, "")
    assert built(again) == built(fresh)
    assert b"Elsewhere" in built(again)["html/book/g.html"]
    assert json.loads(built(again)["words.json"])["all"] > 0


def test_second_build_misses_no_warning(root, tmp_path, build):
    def status() -> int:
        return build(tmp_path / "html", root, 1)[0]

    assert status() == 0
    edit(page(root, "a"), "(here)=", "(gone)=")
    assert status() == 1  # of pages that are not read again
    assert status() == 1
    edit(page(root, "a"), "(gone)=", "(here)=")
    assert status() == 0
    edit(page(root, "c"), "Page c", "Page c\n\n{role}`wrong`")
    assert status() == 1
    page(root, "d").touch()
    assert status() == 1  # though c has not changed since


@pytest.mark.parametrize("jobs", [1, 2])
def test_name_of_two_pages_is_found(root, tmp_path, build, jobs: int):
    """They are the first and the last, so that two processes read them."""
    edit(page(root, "g"), "(page-g)=", "(here)=")
    status, told = build(tmp_path / "html", root, jobs)
    assert status == 1 and told.count("duplicate ") == 1


def in_notebook(kind: str, change: Callable[[str], str]) -> Callable:
    def edited(root: Path) -> None:
        path = root / "book/lab.ipynb"
        notebook = json.loads(path.read_text())
        for cell in notebook["cells"]:
            for part in [cell, *cell.get("outputs", [])]:
                if kind in part:
                    part[kind] = change(str(part[kind]))
        path.write_text(json.dumps(notebook))

    return edited


def in_file(name: str) -> Callable:
    return lambda root: (root / name).write_text("changed")


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (in_file("book/a.md"), True),
        (in_file("book/a.po"), True),
        (in_notebook("source", str.upper), True),
        (in_notebook("text", lambda text: f"{text}1"), False),
        (lambda root: page(root, "g").unlink(), False),
        (in_file("book/new.md"), False),
        *(
            (in_file(name), False)
            for name in (
                "_config.yml",
                "_toc.yml",
                "pyproject.toml",
                "book/claims/a.yml",
                "book/claims/notes.md",
                "book/_ext/rule.py",
                "annotated_transformer/model.py",
            )
        ),
    ],
)
def test_what_pages_are_read_with(root: Path, change: Callable, same: bool):
    before = build_book.read_with(root)
    change(root)
    assert (build_book.read_with(root) == before) == same
