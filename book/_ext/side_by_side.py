"""Pages are read and written side by side, as strictly as one by one.

For that, every extension has to say that it may: what it keeps of a page, it
keeps where Sphinx puts together what its processes have read. Two that are
not ours do not say it, and may all the same.

Of a name that two pages define, Sphinx warns only where one process has read
both. So what its processes have read is compared here.
"""

from functools import partial

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

# While a page is read, one does nothing, since it numbers sections when all
# are read, and the other looks at that page alone.
SILENT = ("sphinx_multitoc_numbering", "sphinx_jupyterbook_latex")
logger = logging.getLogger(__name__)


def declare(app: Sphinx) -> None:
    """Say for those two that pages may be read side by side."""
    for name in SILENT:
        if name in app.extensions:
            app.extensions[name].parallel_read_safe = True


def compare(
    pages: dict[tuple[str, str, object], str],
    app: Sphinx,
    env: BuildEnvironment,
    read: set[str],
    other: BuildEnvironment,
) -> None:
    """Warn of a name that pages of two processes define.

    Domains keep, by kind and name, a tuple that begins with the page.
    """
    for domain, kinds in other.domaindata.items():
        for kind, defined in kinds.items():
            if not isinstance(defined, dict) or kind == "labels":
                continue  # of these, all are among the anonlabels
            for name, entry in defined.items():
                if not isinstance(entry, tuple) or entry[0] not in read:
                    continue
                first = pages.setdefault((domain, kind, name), entry[0])
                if first != entry[0]:
                    logger.warning(
                        "duplicate %s, other instance in %s",
                        name,
                        env.doc2path(first),
                        location=entry[0],
                    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", declare)
    app.connect("env-merge-info", partial(compare, {}))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
