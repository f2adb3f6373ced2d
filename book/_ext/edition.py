"""The Chinese edition: some pages once more, in another language.

The English build has read the whole book. This one, which sets `edition` to
the language, reads the edition's pages again with the catalogues of
book/locale and writes these pages alone, into the same folder, under the
edition's name: numbers and links are those of the whole book, and no file is
there twice.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import drawings
import yaml
from babel.messages.extract import extract_from_dir
from docutils import nodes
from each_page import Page, each_page
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment import CONFIG_OK, BuildEnvironment
from sphinx.locale import get_translation
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

from ledger import BOOK

NAME = "zh"
CATALOGUE = "extensions"  # what is not written in pages, in book/locale
translated = get_translation(CATALOGUE)
NOTE = (
    '<p class="edition-note">本书已有九页译成中文，其余各章、实验和手册仍是'
    "英文。左边有虚线的段落尚无译文，显示原文。</p>"
)
# What the theme and Sphinx say in English, since their catalogues lack it or
# their templates ask for none: an attribute or all the text of an element.
THEME = (
    "Color mode",
    "Colab logo",
    "Launch interactive content",
    "Launch on Colab",
    "Link to this equation",
    "Link to this heading",
    "Link to this image",
    "Main",
    "Page",
    "Repository",
    "Search this book...",
    "Source repositories",
    "Suggest edit",
    "System Settings",
    "Toggle primary sidebar",
    "Toggle secondary sidebar",
)
THEME_SAYS = re.compile(
    rf"(?<=[\">])({'|'.join(map(re.escape, THEME))})(?=[\"<])"
)
PLAIN_LINK = re.compile(r'href="(\w+\.html[^"]*)"')
LANGUAGE = "zh_CN"
HTML_LANGUAGE = "zh-CN"
LOCALE = BOOK / "locale"
SEARCH = "search"
SCRIPT = "translations_zh.js"  # what its scripts say
PAGES = (
    "book/intro",
    "book/01_attention",
    "book/02_heads",
    "book/03_embedding",
    "book/04_layers",
    "book/05_model",
    "book/questions",
    "book/subwords",
    "book/notation",
)


def say(text: str) -> str:
    """What an extension writes, in the language of the build."""
    return str(translated(text))


def terms() -> dict[str, str]:
    """The field's terms in this language, by the English ones."""
    path = LOCALE / LANGUAGE / "terms.yml"
    found: dict[str, str] = yaml.safe_load(path.read_text("utf-8"))
    return found


@cache
def spoken() -> list[str]:
    """What the scripts of pages say."""
    method = [
        ("_static/in_page/**", "ignore"),  # bundled from in_page
        ("_static/**.js", "javascript"),
        ("in_page/**.js", "javascript"),
    ]
    found = extract_from_dir(
        BOOK,
        method,
        keywords={"say": None, "phrase": None},
        directory_filter=lambda folder: True,  # those with _, too
    )
    messages = [str(message) for _, _, message, *_ in found]
    return [*dict.fromkeys(messages + introductions())]


def introductions() -> list[str]:
    """How the models' scripts introduce what is in them."""
    from opened_in_page import EXAMPLES  # it takes `say` from here
    from translator_in_page import OPENINGS

    found = [*EXAMPLES]
    for given in OPENINGS.values():
        found += given["label"], given["kind"], given["offer"]
        found += [*given["examples"], *given["glosses"].values()]
    return found


def names() -> list[str]:
    """The files of the pages, without what is the same of all."""
    return [page.rpartition("/")[2] for page in PAGES]


def address(page: str) -> str:
    """A page of the edition, from the book's first folder."""
    return f"{NAME}/{page}.html"


class WithoutIndex(StandaloneHTMLBuilder):
    """Sphinx's builder, spared the index of words that no page loads."""

    def index_page(self, *_: object) -> None:
        pass

    def dump_search_index(self) -> None:
        pass


class Edition(WithoutIndex):
    """Writes the edition's pages, and what no other build has."""

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        uri: str = super().get_target_uri(docname, typ)
        return address(docname) if docname in (*PAGES, SEARCH) else uri

    def get_outfilename(self, pagename: str) -> str:
        return super().get_outfilename(f"{NAME}/{pagename}")

    def handle_page(
        self,
        pagename: str,
        addctx: dict[str, Any],
        templatename: str = "page.html",
        outfilename: str | None = None,
        event_arg: Any = None,
    ) -> None:
        super().handle_page(
            pagename, addctx, templatename, outfilename, event_arg
        )
        path = Path(outfilename or self.get_outfilename(pagename))
        page = THEME_SAYS.sub(
            lambda found: say(found[0]), path.read_text("utf-8")
        )
        path.write_text(page, "utf-8")

    def load_indexer(self, docnames: object) -> None:
        pass

    def copy_assets(self) -> None:
        self.copy_translation_js()  # all others are there
        known = {text: say(text) for text in spoken()}
        said = f"globalThis.translations = {json.dumps(known)};\n"
        Path(self.outdir, "_static", SCRIPT).write_text(said, "utf-8")

    def post_process_images(self, doctree: nodes.Node) -> None:
        super().post_process_images(doctree)
        for path, name in self.images.items():
            if name.endswith(".svg") and not name.startswith(f"{NAME}-"):
                self.images[path] = f"{NAME}-{name}"

    def copy_image_files(self) -> None:
        for path, name in self.images.items():
            if name.endswith(".svg"):  # all others are there
                drawing = Path(self.srcdir, path)
                shown = drawings.translated(drawing, say, HTML_LANGUAGE)
                Path(self.outdir, self.imagedir, name).write_bytes(shown)

    def finish(self) -> None:
        sections = {"sections": f"search_sections_{NAME}"}
        self.handle_page(SEARCH, sections, f"{SEARCH}.html")
        self.copy_image_files()
        self.copy_download_files()


class Sources(SphinxTransform):
    """Lets text within directives, in tables for one, be translated.

    Sphinx takes what has no source for words of its own.
    """

    default_priority = 15  # before Sphinx's own, which translates

    def apply(self, **_: object) -> None:
        for node in self.document.findall(nodes.TextElement):
            node.source = node.source or self.document["source"]


def keep_the_rest(app: Sphinx) -> None:
    """Another language changes no page but these."""
    app.env.config_status = CONFIG_OK


def read_again(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> list[str]:
    return [*PAGES]


def begin(app: Sphinx, config: Config) -> None:
    if config.edition:
        app.add_builder(Edition, override=True)
        app.add_js_file(SCRIPT, priority=90, loading_method="defer")
        app.connect("builder-inited", keep_the_rest)
        app.connect("env-get-outdated", read_again)


def lead_over(page: Page) -> None:
    """Tell the templates where a page is in the other language."""
    config, context = page.app.config, page.context
    context["say"] = say
    context["edition_pages"] = " ".join(names())
    if page.name not in PAGES:
        return
    uri, there = f"{page.name}.html", address(page.name)
    if config.edition:
        name, language, title = "", "en", "English"
        uri, there = there, uri
    else:
        name, language, title = NAME, HTML_LANGUAGE, "中文"
    context["edition"] = {
        "name": name,
        "language": language,
        "title": title,
        "link": relative_uri(uri, there),
        "address": config.html_baseurl + there,
    }


def lead_out(page: Page) -> None:
    """Let links that are not Sphinx's find the pages that stay English."""

    def link(to: str) -> str:
        name = to.partition(".")[0]
        return to if name in names() else f"../../book/{to}"

    def lead(body: str) -> str:
        led = PLAIN_LINK.sub(lambda found: f'href="{link(found[1])}"', body)
        return led.replace("</h1>", f"</h1>{NOTE}", 1)

    if not page.app.config.edition:
        return
    page.change(lead)
    page.context["ways"] = [
        (way, name, *((link(to), title) for to, title in ends))
        for way, name, *ends in page.context["ways"]
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(Sources)
    app.add_config_value("edition", "", "")
    app.add_message_catalog(CATALOGUE, str(LOCALE))
    app.add_js_file("say.js", priority=100, loading_method="defer")
    app.connect("config-inited", begin)
    each_page(app, lead_over)
    each_page(app, lead_out, priority=960)  # after ways
    return {"parallel_read_safe": True, "parallel_write_safe": True}
