"""Write the fonts of the pages: book/_static/fonts/*.woff2.

They are cut from two families of the npm registry, both under the SIL Open
Font License: Libertinus Serif for the text, and Noto Sans SC for the Chinese
signs that the built pages quote:

    npm pack @fontsource/libertinus-serif @fontsource/noto-sans-sc

Each is unpacked into a folder. Needs `pip install fonttools brotli`.
"""

import argparse
import sys
from io import BytesIO
from pathlib import Path

from chapters import ROOT
from fontTools.merge import Merger
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from lxml import html

FONTS = ROOT / "book" / "_static" / "fonts"
SERIF = "libertinus-serif-{part}-{style}.woff2"
CHINESE = "noto-sans-sc-chinese-simplified-400-normal.woff2"
STYLES = {
    "text": "400-normal",
    "text-bold": "700-normal",
    "text-italic": "400-italic",
}
# What is taken of each part into which the registry has cut the family.
PARTS = {
    "latin": range(0x20, 0x2215),
    "latin-ext": range(0x100, 0x180),  # the accents of Europe
    "greek": range(0x391, 0x3CA),
}
MADE = 3_786_912_000  # seconds from 1904 to 2024, whenever this is run
FEATURES = ["kern", "liga", "calt", "ccmp", "locl", "mark", "mkmk"]


def signs(folder: Path) -> set[int]:
    """The Chinese signs in the text of built pages."""
    texts = (
        html.parse(page).xpath("string(//article)")
        for page in (folder / "book").glob("*.html")
    )
    return {ord(sign) for text in texts for sign in text if sign > "\u2e80"}


def cut(file: Path, wanted: set[int]) -> TTFont:
    """What a font has of some characters."""
    font = TTFont(file)
    options = Options(layout_features=FEATURES, hinting=False)
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=wanted & font.getBestCmap().keys())
    subsetter.subset(font)
    font.flavor = None
    return font


def write(font: TTFont, name: str) -> None:
    font.flavor, font.recalcTimestamp = "woff2", False
    font["head"].created = font["head"].modified = MADE
    file = FONTS / f"{name}.woff2"
    font.save(file)
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1000:.0f} kB")


def main() -> int:
    """Cut the fonts that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("serif", type=Path, help="its unpacked files")
    parser.add_argument("chinese", type=Path, help="its unpacked files")
    parser.add_argument("book", type=Path, help="for example _build/html")
    given = parser.parse_args()
    for name, style in STYLES.items():
        pieces = []
        for part, wanted in PARTS.items():
            file = given.serif / SERIF.format(part=part, style=style)
            pieces.append(BytesIO())
            cut(file, set(wanted)).save(pieces[-1])
        write(Merger().merge(pieces), name)
    write(cut(given.chinese / CHINESE, signs(given.book)), "signs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
