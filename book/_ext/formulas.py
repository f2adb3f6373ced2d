"""Formulas offline: MathJax comes along, and MathML where no script runs.

A browser shows what stands in <noscript> only where no script runs, and there
the TeX is hidden (_templates/layout.html). With scripts MathJax sets the TeX,
which looks better: its fonts come along, those of MathML are the reader's own,
if there are any.
"""

import re
import shutil
from html import unescape
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

TEX = re.compile(
    r'(<(?:span|div) class="math [^>]*>\s*(?:<span class="eqno">.*?</span>)?)'
    r"(\\([(\[])(.*?)\\[)\]])(?=</(?:span|div)>)",
    re.DOTALL,
)
EXTENSIONS = ("boldsymbol", "color", "cancel")  # loaded where they are used


def with_mathml(body: str, macros: dict[str, str]) -> str:
    """A page in which each formula's TeX is followed by its MathML."""

    def both(found: re.Match) -> str:
        before, tex, opened, formula = found.groups()
        display = "block" if opened == "[" else "inline"
        formula = expanded(unescape(formula), macros)
        mathml = f"<noscript>{convert(formula, display=display)}</noscript>"
        return f'{before}<span class="tex">{tex}</span>{mathml}'

    return TEX.sub(both, body)


def expanded(formula: str, macros: dict[str, str]) -> str:
    """TeX without the book's macros, as the converter knows it."""
    for name, meaning in macros.items():
        formula = re.sub(
            rf"\\{name}(?![A-Za-z])", lambda _, m=meaning: m, formula
        )
    return formula.replace("{aligned}", "{split}")


def add_mathml(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give a page its formulas once more."""
    macros = app.config.mathjax3_config["tex"]["macros"]
    for part in ("body", "toc"):
        if part in context:
            context[part] = with_mathml(context[part], macros)


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Put MathJax beside the pages: the parts they use, 2 of its 31 MB."""
    if error or app.builder.format != "html":
        return
    package = distribution("sphinx-mathjax-offline")
    source = Path(package.locate_file("sphinx-mathjax-offline/static/mathjax"))
    target = Path(app.outdir) / "_static" / "mathjax"
    extensions = (f"input/tex/extensions/{name}.js" for name in EXTENSIONS)
    fonts = source.glob("output/chtml/fonts/woff-v2/*.woff")
    for file in [
        source / "tex-chtml.js",
        *(source / name for name in extensions),
        *fonts,
    ]:
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", add_mathml)
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
