"""Addresses of the repository and of each page.

The repository's address is in pyproject.toml and nowhere else; the book's own
follows from it, as GitHub Pages makes it. Buttons, what a page says where it
is shared, and the site map are made from both.
"""

import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import edition
from docutils import nodes
from each_page import Page, each_page
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
REPOSITORY = PROJECT["project"]["urls"]["Repository"]
TAG = re.compile(r"<[^>]+>")  # of what is marked as German
SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""
REDIRECT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0; url={link}">
<link rel="canonical" href="{canonical}">
<title>{title}</title>
</head>
<body><p>Go on to <a href="{link}">{title}</a>.</p></body>
</html>
"""


def site(repository: str) -> str:
    """Where GitHub Pages shows the book of a repository."""
    owner, name = urlsplit(repository).path.strip("/").split("/")
    return f"https://{owner}.github.io/{name}/"


def address(app: Sphinx, config: Config) -> None:
    """Tell the theme where the repository and the book are."""
    config.html_baseurl = site(REPOSITORY)
    config.html_theme_options.update(
        repository_url=REPOSITORY,
        repository_branch="main",
        use_repository_button=True,
        use_edit_page_button=True,
    )


def summary(page: Page) -> str:
    """What a page is about: its first paragraph, or the book's one line."""
    for paragraph in page.find(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            said = TAG.sub("", paragraph.astext())
            return textwrap.shorten(said, 200, placeholder=" …")
    return PROJECT["project"]["description"]


def describe(page: Page) -> None:
    """Give the templates what they say of a page."""
    app, context = page.app, page.context
    context["summary"] = summary(page)
    context["repository"] = REPOSITORY
    context["html_baseurl"] = app.config.html_baseurl
    if page.doctree:
        source = Path(app.env.doc2path(page.name)).relative_to(app.srcdir)
        context["edit_url"] = f"{REPOSITORY}/edit/main/{source.as_posix()}"
    # docutils' role for an entry of a bibliography is no longer one.
    old, new = 'role="doc-biblioentry"', 'role="listitem"'
    page.change(lambda body: body.replace(old, new))
    to_colab(context.get("header_buttons", []))


def to_colab(buttons: list[dict[str, Any]]) -> None:
    """Launch the notebooks of the branch `colab`: they install the package.

    tools/build_book.py writes that branch's files.
    """
    for button in buttons:
        to_colab(button.get("buttons", []))
        if "colab.research.google.com" in button.get("url", ""):
            address = button["url"].replace("/blob/main/", "/blob/colab/")
            button["url"] = address


def map_site(app: Sphinx, error: Exception | None) -> None:
    """Write sitemap.xml, every page of the book by its address."""
    if error or app.config.edition or app.builder.format != "html":
        return
    pages = [*map(app.builder.get_target_uri, sorted(app.env.all_docs))]
    pages += map(edition.address, edition.PAGES)
    addresses = (app.config.html_baseurl + page for page in pages)
    lines = (f"<url><loc>{escape(url)}</loc></url>" for url in addresses)
    target = Path(app.outdir) / "sitemap.xml"
    target.write_text(SITEMAP.format("\n".join(lines)), encoding="utf-8")


def redirect(app: Sphinx, error: Exception | None) -> None:
    """Let the book's own address lead to its first page."""
    if error or app.config.edition or app.builder.format != "html":
        return
    uri = app.builder.get_target_uri(app.config.root_doc)
    page = REDIRECT.format(
        link=uri,
        canonical=app.config.html_baseurl + uri,
        title=escape(app.env.titles[app.config.root_doc].astext()),
    )
    (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("edition")
    app.connect("config-inited", address, priority=1)
    each_page(app, describe, priority=900)
    app.connect("build-finished", map_site)
    app.connect("build-finished", redirect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
