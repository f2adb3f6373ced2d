"""The words of drawings and plots, in the language of an edition.

A drawing's words are text. Those of a plot are outlines, each line of them
with a comment that says it; text takes their place where it is another.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from lxml import etree

SVG = "{http://www.w3.org/2000/svg}"
XML = "{http://www.w3.org/XML/1998/namespace}"
WORD = re.compile(r"[^\W\d_]{2}")
AT = re.compile(r"translate\((\S+) ")
FRAME = re.compile(r"M (\S+) ")  # where the first path of axes begins
EM, LETTER = 100, 61.0  # in the units of outlines, before they are scaled


def labels(root: etree._Element) -> Iterator[tuple[str, etree._Element]]:
    """The words of a drawing, each with the element that shows them."""
    for text in root.iter(f"{SVG}text"):
        if not len(text) and text.text:
            yield text.text, text
    for comment in root.iter(etree.Comment):
        yield comment.text.strip(), comment.getnext()


def words(path: Path) -> list[str]:
    """What there is to translate of a drawing."""
    root = etree.parse(path).getroot()
    return [said for said, _ in labels(root) if WORD.search(said)]


def translated(path: Path, say: Callable[[str], str], language: str) -> bytes:
    """A drawing with its words in another language."""
    tree = etree.parse(path)
    tree.getroot().set(f"{XML}lang", language)
    for said, element in [*labels(tree.getroot())]:
        if (other := say(said)) == said:
            continue
        if element.tag == f"{SVG}text":
            element.text = other
        else:
            write(element, other)
    return bytes(etree.tostring(tree, encoding="utf-8"))


def write(outlines: etree._Element, said: str) -> None:
    """Put words in place of outlines, whose shapes others may use."""
    letters = [*outlines.iter(f"{SVG}use")]
    place = AT.search(letters[-1].get("transform", ""))
    width = (float(place[1]) if place else 0) + LETTER
    anchor = anchor_of(outlines)
    text = etree.SubElement(outlines, f"{SVG}text")
    text.text = said
    text.set("x", str(width * ("start", "middle", "end").index(anchor) / 2))
    text.set("text-anchor", anchor)
    text.set("transform", "scale(1 -1)")
    bold = any("Bold" in name for name in letters[0].attrib.values())
    text.set("style", f"font: {'bold ' * bold}{EM}px sans-serif")
    for letter in letters:
        letter.getparent().remove(letter)


def anchor_of(outlines: etree._Element) -> str:
    """Which end of a label stays: beside a tick, a sample or an axis.

    A title begins where its axes do; all else is centred.
    """
    around = [x.get("id", "") for x in outlines.iterancestors(f"{SVG}g")]
    if any(name.startswith("legend") for name in around):
        return "start"
    if any(name.startswith("ytick") for name in around):
        return "end"
    for axes in outlines.iterancestors(f"{SVG}g"):
        if axes.get("id", "").startswith("axes"):
            frame = FRAME.match(axes.find(f".//{SVG}path").get("d"))
            at = AT.search(outlines.get("transform"))
            if frame and at and abs(float(frame[1]) - float(at[1])) < 1:
                return "start"
    return "middle"
