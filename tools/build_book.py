"""Build the book as HTML, strictly, with nothing in it from the network."""

import argparse
import shutil
import sys
from pathlib import Path

import yaml
from chapters import ROOT
from jupyter_book.sphinx import REDIRECT_TEXT, build_sphinx


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
