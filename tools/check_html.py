"""Check built HTML: links, loads from outside, alt texts, and the weight.

A link may lead out of the book; a page may not load anything from outside.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lxml import html

# Relations of <link> that make a browser fetch what they name.
FETCHED = {"stylesheet", "preload", "prefetch", "modulepreload", "manifest"}
FETCHED |= {"icon", "apple-touch-icon", "preconnect", "dns-prefetch"}
FOLLOWED = {"a", "area", "form", "meta"}  # by a reader, or from a page
CSS_URL = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")
CODE_URL = re.compile(r"""['"]((?:https?:)?//[^'"\s]+\.(?:m?js|css))['"]""")

MEGABYTE = 1_000_000
SHARED = 4.0 * MEGABYTE  # what all pages share, loaded once
OWN = 1.0 * MEGABYTE  # a page and its pictures
ON_DEMAND = ("in_page",)  # in _static, loaded when a reader asks for it


class Page(NamedTuple):
    """What a page defines, links to and loads."""

    ids: set[str]
    links: list[str]
    loads: list[str]
    faults: list[str]


def read(file: Path) -> Page:
    """Read a page."""
    root = html.document_fromstring(file.read_text("utf-8").encode("utf-8"))
    page = Page({*root.xpath("//@id | //@name")}, [], [], [])
    for element, _, url, _ in root.iterlinks():
        rel = {*element.get("rel", "stylesheet").lower().split()}
        fetched = element.tag == "link" and rel & FETCHED
        followed = element.tag in FOLLOWED | {"link"} and not fetched
        (page.links if followed else page.loads).append(url)
    for sources in root.xpath("//@srcset | //@poster"):
        page.loads.extend(item.split()[0] for item in sources.split(","))
    for script in root.iter("script"):
        page.loads.extend(CODE_URL.findall(script.text or ""))
    for picture in root.iter("img"):
        if not picture.get("alt", "").strip():
            page.faults.append(f"no alt text: {picture.get('src', '')[:80]}")
    return page


def css_urls(css: str) -> list[str]:
    """Everything that a style sheet loads."""
    return [url or imported for url, imported in CSS_URL.findall(css)]


def is_remote(url: str) -> bool:
    """Whether a browser would need the network to follow an address."""
    parts = urlsplit(url.strip())
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def resolve(file: Path, url: str) -> tuple[Path, str] | None:
    """The file and the fragment a local address leads to, if it is one."""
    parts = urlsplit(url.strip())
    if parts.scheme or parts.netloc:
        return None
    target = file.parent / unquote(parts.path) if parts.path else file
    if target.is_dir():
        target /= "index.html"
    return target.resolve(), unquote(parts.fragment)


def check(folder: Path) -> list[str]:
    """Every fault in the HTML and CSS files under a folder, one a line."""
    folder = folder.resolve()
    pages: dict[Path, Page] = {}
    for file in sorted(folder.rglob("*.html")):
        if "_static" in file.relative_to(folder).parts:
            continue  # templates of the theme, never shown
        pages[file] = read(file)
    if not pages:
        return [f"{folder}: no page; build the book first: make book"]
    loads = {file: page.loads for file, page in pages.items()}
    for file in sorted(folder.rglob("*.css")):
        loads[file] = css_urls(file.read_text(encoding="utf-8"))
    faults = {file: list(page.faults) for file, page in pages.items()}
    for file, urls in loads.items():
        found = faults.setdefault(file, [])
        found += [f"loads from the network: {u}" for u in urls if is_remote(u)]
        if file in pages:
            urls = urls + pages[file].links
        for url in urls:
            target, fragment = resolve(file, url) or (file, "")
            if not target.exists():
                found.append(f"broken link: {url}")
            page = pages.get(target)
            if fragment and page and fragment not in page.ids:
                found.append(f"broken anchor: {url}")
    return [
        f"{file.relative_to(folder)}: {fault}"
        for file, found in faults.items()
        for fault in dict.fromkeys(found)
    ]


def weigh(folder: Path) -> list[str]:
    """Every page, and what all pages share, that weighs too much."""
    folder = folder.resolve()
    static = folder / "_static"
    shared = [
        file
        for file in static.rglob("*")
        if file.is_file()
        and not any(file.is_relative_to(static / d) for d in ON_DEMAND)
    ]
    faults = too_heavy("_static", set(shared), SHARED)
    for file in sorted(folder.rglob("*.html")):
        if static in file.parents:
            continue
        local = (resolve(file, url) for url in read(file).loads)
        own = {file, *(path for path, _ in filter(None, local))}
        own = {path for path in own if path.is_file()} - set(shared)
        faults += too_heavy(str(file.relative_to(folder)), own, OWN)
    return faults


def too_heavy(name: str, files: set[Path], limit: float) -> list[str]:
    """One fault where files weigh more than a limit together."""
    size = sum(file.stat().st_size for file in files)
    if size <= limit:
        return []
    most = max(files, key=lambda file: file.stat().st_size).name
    millions = f"{size / MEGABYTE:.1f} of {limit / MEGABYTE} MB"
    return [f"{name}: too heavy: {millions}, most of it {most}"]


def main() -> int:
    """Check the folder that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="for example _build/html")
    folder = parser.parse_args().folder
    faults = check(folder) + weigh(folder)
    print("\n".join(faults) or "links, loads, alt texts, weights are sound")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
