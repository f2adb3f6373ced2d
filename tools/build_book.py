"""Build the book as HTML, strictly, with nothing in it from the network.

No notebook runs: their pages have the outputs that `make run` has stored.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import nbformat
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from chapters import ROOT, find_chapters, read
from jupyter_book.sphinx import build_sphinx

sys.path += [str(ROOT / "book"), str(ROOT / "book" / "_ext")]
from addresses import REPOSITORY
from edition import CATALOGUE, LANGUAGE, LOCALE, NAME, PAGES

# More would hardly be faster: what they read is put together by one.
JOBS = min(os.cpu_count() or 1, 8)


def build(output: Path, root: Path = ROOT, jobs: int = JOBS) -> int:
    """Build the book, every warning an error; 0 if there was none.

    All pages are written, because links, numbers and the side bar of each
    depend on the others. A page is read again only if it has changed, unless
    the last build had a warning, which Sphinx would not repeat, or something
    else has changed that pages are read with.
    """
    shutil.rmtree(output, ignore_errors=True)  # what is missing is written
    doctrees = output.parent / ".doctrees"
    now, mark = read_with(root), doctrees / "read_with"
    if not mark.exists() or mark.read_text() != now:
        shutil.rmtree(doctrees, ignore_errors=True)
    mark.unlink(missing_ok=True)  # until this build has ended well
    status = run(output, root, jobs, doctrees)
    if status == 0:
        prune(output / "_static")
        write_colab(output.parent / "colab")
        mark.write_text(now)
    return status


def build_edition(output: Path, jobs: int) -> int:
    """Add the pages in Chinese to what has been built, as strictly."""
    words = LOCALE / LANGUAGE / "LC_MESSAGES" / f"{CATALOGUE}.po"
    with words.open("rb") as file:
        known = read_po(file)
    with words.with_suffix(".mo").open("wb") as file:
        write_mo(file, known)  # Sphinx does so with those of pages alone
    # what has been read of the other pages serves the edition, too
    doctrees = output.parent / ".doctrees_zh"
    shutil.rmtree(doctrees, ignore_errors=True)
    shutil.copytree(output.parent / ".doctrees", doctrees)
    given = {"filenames": [str(source(page)) for page in PAGES]}
    return run(output, ROOT, jobs, doctrees, EDITION, **given)


def run(
    output: Path,
    root: Path,
    jobs: int,
    doctrees: Path,
    own: dict[str, Any] | None = None,
    **given: Any,
) -> int:
    """Run Sphinx with the book's settings and a build's own."""
    settings = {
        "external_toc_path": str(root / "_toc.yml"),
        "latex_individualpages": False,
        "nitpicky": True,
    }
    status = build_sphinx(
        root,
        output,
        path_config=root / "_config.yml",
        noconfig=True,
        confoverrides=settings | (own or {}),
        doctreedir=doctrees,
        warningiserror=True,
        jobs=jobs,
        keep_going=True,
        quiet=True,
        **given,
    )
    return 1 if status else 0


EDITION = {
    "edition": NAME,
    "html_title": "注解版 Transformer：从头重建",
    "language": LANGUAGE,
    "locale_dirs": ["book/locale"],
    "gettext_compact": False,  # a catalogue a page
    "translation_progress_classes": "untranslated",
}


def source(page: str) -> Path:
    """The file that a page is made of."""
    (path,) = (ROOT / page).parent.glob(f"{Path(page).name}.[im][pd]*")
    return path


def read_with(root: Path) -> str:
    """A checksum of all that pages are read with, but their own text.

    What notebooks have printed is part of it, because other pages quote it.
    """
    digest = hashlib.sha256(sys.version.encode())
    for package in sorted(f"{x.name} {x.version}" for x in distributions()):
        digest.update(package.encode())
    files = [root / name for name in ("_config.yml", "_toc.yml")]
    files += [root / "pyproject.toml", Path(__file__)]
    for folder in ("book", "annotated_transformer"):
        files += sorted(x for x in (root / folder).rglob("*") if x.is_file())
    for path in files:
        if path.suffix in (".pyc", ".po", ".mo"):
            continue
        digest.update(f"\n{path}\n".encode())
        if path.suffix == ".ipynb":
            cells = json.loads(path.read_text("utf-8"))["cells"]
            printed = [cell.get("outputs") for cell in cells]
            digest.update(json.dumps(printed).encode())
        elif path.suffix != ".md" or path.parent != root / "book":
            digest.update(path.read_bytes())
    return digest.hexdigest()


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
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "book").mkdir(parents=True)
    for chapter in find_chapters():
        notebook = read(chapter)
        cell = nbformat.v4.new_code_cell(
            COLAB.format(repository=REPOSITORY),
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
    parser.add_argument("-j", "--jobs", type=int, default=JOBS)
    parser.add_argument(
        "--edition",
        action="store_true",
        help="build the pages in Chinese alone, into the last build",
    )
    given = parser.parse_args()
    output, jobs = given.output.resolve(), given.jobs
    if not given.edition and (status := build(output, jobs=jobs)):
        return status
    return build_edition(output, jobs)


if __name__ == "__main__":
    sys.exit(main())
