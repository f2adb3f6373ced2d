"""Build the book as HTML, strictly, with nothing in it from the network."""

import argparse
import shutil
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import yaml
from chapters import ROOT
from jupyter_book.sphinx import REDIRECT_TEXT, build_sphinx

MATHJAX = "sphinx-mathjax-offline"


def repository() -> str:
    """The repository's address, from the one place where it stands."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["project"]["urls"]["Repository"]


def copy_mathjax(static: Path) -> str:
    """Copy one MathJax bundle and its fonts; its path in `_static`.

    The rest of the package, two thirds of it, serves other inputs.
    """
    root = Path(f"{MATHJAX}/static")
    for file in metadata.files(MATHJAX) or []:
        if file.name == "tex-chtml.js" or file.suffix == ".woff":
            target = static / Path(file).relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target)
    return "mathjax/tex-chtml.js"


def build(output: Path, parallel: int) -> int:
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
        "mathjax_path": copy_mathjax(output / "_static"),
        "html_theme_options": {
            "repository_url": repository(),
            "use_repository_button": True,
        },
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
        jobs=parallel,
    )
    if status == 0:
        redirect(output)
    return 1 if status else 0


def redirect(output: Path) -> None:
    """Let `index.html` lead to the first page, where that is another one."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    index = output / "index.html"
    if not index.exists():
        index.write_text(
            REDIRECT_TEXT.format(first_page=f"{toc['root']}.html")
        )


def main() -> int:
    """Build into the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "output", nargs="?", type=Path, default=ROOT / "_build" / "html"
    )
    parser.add_argument("-j", "--jobs", type=int, default=1)
    arguments = parser.parse_args()
    return build(arguments.output.resolve(), arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
