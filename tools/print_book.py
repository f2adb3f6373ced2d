"""Print the built book as one PDF: title, chapters, bookmarks, page numbers.

The pages are those of the web edition, in their order, printed by Chromium;
what is folded there is open here.
"""

import argparse
import html
import io
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from chapters import ROOT
from chromium import launch
from playwright.sync_api import Browser, Page, PdfMargins, sync_playwright
from pypdf import PdfReader, PdfWriter

from annotated_transformer import __version__

MARGIN = PdfMargins(top="18mm", bottom="20mm", left="18mm", right="18mm")
NONE = PdfMargins(top="0", bottom="0", left="0", right="0")
TITLE = """<!doctype html><html lang="en"><title>{name}</title><style>
body {{font-family: sans-serif; text-align: center; padding: 25% 5% 0}}
svg {{width: 60%}} h1 {{font-size: 34pt}} p {{font-size: 14pt; color: #444}}
footer {{margin-top: 35%; font-size: 10pt; color: #444}}</style>
{logo}<h1>{name}</h1><p>{description}</p>
<footer>Version {version} · {repository}<br>
Text and figures: CC BY 4.0, code: MIT</footer></html>"""
NUMBER = """<div style="break-after: page; height: 292mm; padding-top: 282mm;
box-sizing: border-box; text-align: center; font: 9pt sans-serif; color: #444"
>{}</div>"""
# Folds are opened, each page's own contents are left out, and a link to
# another page leads to that page on the web.
PREPARE = """async () => {
  document.querySelectorAll("details").forEach(e => e.open = true);
  document.getElementById("print-main-content")?.remove();
  await window.MathJax?.startup?.promise;
  const here = document.querySelector("link[rel=canonical]")?.href;
  for (const a of document.querySelectorAll("a[href]")) {
    const to = a.getAttribute("href");
    if (here && !to.startsWith("#")) a.href = new URL(to, here).href;
  }
}"""


def files(toc: dict[str, Any]) -> Iterator[str]:
    """The pages in reading order, as _toc.yml lists them."""
    yield toc.get("root") or toc["file"]
    for part in toc.get("parts", [toc]):
        for page in part.get("chapters", []) + part.get("sections", []):
            yield from files(page)


def title_of_book() -> str:
    """The title, as _config.yml has it."""
    return yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]


def title_page() -> str:
    """The first page, from pyproject.toml and the logo."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    given = project["project"]
    words = {
        "name": title_of_book(),
        "description": given["description"],
        "version": __version__,
        "repository": given["urls"]["Repository"],
    }
    logo = (ROOT / "book" / "_static" / "logo.svg").read_text("utf-8")
    words = {key: html.escape(word) for key, word in words.items()}
    return TITLE.format(logo=logo, **words)


def printed(page: Page) -> PdfReader:
    """What is shown, on paper."""
    paper = page.pdf(
        format="A4", margin=MARGIN, print_background=True, tagged=True
    )
    return PdfReader(io.BytesIO(paper))


def print_book(browser: Browser, folder: Path, pages: list[str]) -> PdfWriter:
    """The pages of a built book as one document."""
    writer = PdfWriter()
    page = browser.new_page(color_scheme="light")
    page.set_content(title_page())
    writer.append(printed(page))
    for name in pages:
        page.goto((folder / f"{name}.html").resolve().as_uri())
        page.evaluate(PREPARE)
        title = page.locator("article h1").first.inner_text()
        writer.append(printed(page), outline_item=title.rstrip("#\n "))
    count = len(writer.pages)
    numbers = range(2, count + 1)
    page.set_content("".join(NUMBER.format(n) for n in numbers))
    paper = page.pdf(format="A4", margin=NONE)
    stamps = PdfReader(io.BytesIO(paper))
    page.close()
    for sheet, stamp in zip(writer.pages[1:], stamps.pages, strict=False):
        sheet.merge_page(stamp)
        sheet.compress_content_streams()  # merging has unpacked them
    writer.add_metadata({"/Title": title_of_book()})
    return writer


def main() -> int:
    """Print the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for example _build/html")
    parser.add_argument("output", type=Path, help="for example book.pdf")
    arguments = parser.parse_args()
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    with sync_playwright() as playwright:
        browser = launch(playwright.chromium)
        writer = print_book(browser, arguments.folder, list(files(toc)))
    writer.write(arguments.output)
    print(f"{arguments.output}: {len(writer.pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
