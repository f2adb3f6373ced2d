"""A book of a few pages, built with extensions of the real one."""

import io
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace


def build_pages(
    source: Path, *extensions: str, **settings: Any
) -> tuple[Path, str]:
    """Build what a folder holds: the folder of HTML, and all warnings."""
    said, out = io.StringIO(), source.with_name(f"{source.name}-html")
    with docutils_namespace():
        Sphinx(
            source,
            None,
            out,
            out,
            "html",
            {"extensions": extensions, **settings},
            status=None,
            warning=said,
            freshenv=True,
        ).build()
    return out, said.getvalue()
