"""What the Chinese edition has to translate: `make translate`.

From the last build of the book, the catalogues of book/locale get the
messages that their pages have now. A translation stays with its message; where
that has changed, the old one is kept, marked as fuzzy, and the page shows
English until somebody has looked at it.
"""

import pickle
import sys
from pathlib import Path

import yaml
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po
from chapters import ROOT
from docutils import nodes
from sphinx.util.nodes import extract_messages

sys.path += [str(ROOT / "book"), str(ROOT / "book" / "_ext")]
import checked
from drawings import words
from edition import CATALOGUE, LANGUAGE, LOCALE, PAGES, THEME, spoken
from ledger_page import claimed
from story import PROMPTS
from translator_in_page import OPENINGS
from ways import WAYS

from annotated_transformer.storage.model_card import TEXT_LICENCES

FOLDER = LOCALE / LANGUAGE / "LC_MESSAGES"


def messages(doctree: nodes.document) -> list[str]:
    """What is to translate of a page, in its order."""
    return [*dict.fromkeys(text for _, text in extract_messages(doctree))]


def catalogue(name: str) -> Path:
    """The file of a page's translations, or of the extensions'."""
    return FOLDER / f"{name}.po"


def catalogue_of(name: str) -> Catalog:
    """The translations as they are."""
    if not catalogue(name).exists():
        return Catalog(locale=LANGUAGE)
    with catalogue(name).open("rb") as file:
        return read_po(file, locale=LANGUAGE)


def read(page: str, built: Path) -> nodes.document:
    """The English page as a build has read it."""
    with (built / ".doctrees" / f"{page}.doctree").open("rb") as file:
        doctree: nodes.document = pickle.load(file)
    return doctree


def drawn(doctree: nodes.document) -> list[str]:
    """The words of a page's drawings and plots."""
    paths = (ROOT / image["uri"] for image in doctree.findall(nodes.image))
    return [x for path in paths if path.suffix == ".svg" for x in words(path)]


def inserted(pages: list[nodes.document]) -> list[str]:
    """What extensions, templates and drawings put onto these pages."""
    labels = [text for page in pages for text in drawn(page)]
    tried = [text for page in PAGES for text in claimed(Path(page).name)]
    equal = [text for page in PAGES for text in checked.words(page)]
    ways = [text for way in WAYS for text in (way.title, way.afterwards)]
    prompts = [text for pair in PROMPTS.values() for text in pair]
    called = [
        found[2]
        for found in extract_from_dir(
            ROOT / "book",
            method_map=[("_ext/*.py", "python"), ("_templates/**", "jinja2")],
            keywords={"say": None},
            directory_filter=lambda folder: True,  # those with _, too
        )
    ]
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    parts = [part["caption"] for part in toc["parts"]]
    models = [x["label"].capitalize() for x in OPENINGS.values()]
    models += TEXT_LICENCES.values()
    return [
        *dict.fromkeys(
            [
                *parts,
                *ways,
                *prompts,
                *models,
                *map(str, called),
                *spoken(),
                *THEME,
                *tried,
                *equal,
                *labels,
            ]
        )
    ]


def update(name: str, texts: list[str]) -> Catalog:
    """A catalogue's translations, by the messages that there are now."""
    known, now = catalogue_of(name), Catalog(locale=LANGUAGE)
    for text in texts:
        now.add(text)
    known.update(now)
    return known


def open_messages(known: Catalog) -> list[str]:
    """Those without a current translation."""
    return [str(x.id) for x in known if x.id and (x.fuzzy or not x.string)]


def main() -> int:
    """Update all catalogues and print what is to do."""
    built = ROOT / "_build"
    pages = {page: read(page, built) for page in PAGES}
    texts = {page: messages(doctree) for page, doctree in pages.items()}
    texts[CATALOGUE] = inserted([*pages.values()])
    for name, found in texts.items():
        known, path = update(name, found), catalogue(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_po(file, known, width=79, omit_header=True)
        missing = open_messages(known)
        print(f"{name}: {len(missing)} of {len(known)} messages to translate")
    return 0


if __name__ == "__main__":
    sys.exit(main())
