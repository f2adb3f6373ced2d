"""What the build refuses: long chapters, no picture, numbers without source.

A book of a page or two is built with the extensions, and its warnings read.
"""

import json
from collections.abc import Callable
from pathlib import Path

import measured_numbers
import nbformat
import page_rules
import pytest
from docutils import nodes
from docutils.utils import new_document
from nbformat.v4 import new_code_cell, new_notebook, new_output
from small_book import build_pages

EXTENSIONS = ["german", "measured_numbers", "page_rules"]
CELL = "\n\n.. rst-class:: output\n\n::\n\n    BLEU 41.82, 63,082,496\n\n"
PICTURE = "\n.. image:: picture.svg\n   :alt: A line.\n\n"
Build = Callable[..., str]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Builds pages of reStructuredText; returns what was warned of."""
    source = tmp_path / "book"
    source.mkdir()
    (source / "conf.py").write_text("")
    (source / "picture.svg").write_text("<svg/>")
    said = "BLEU 41.82, 63,082,496\nbeam\n   5   0.7"
    output = new_output("stream", name="stdout", text=said)
    cell = new_code_cell("print()", outputs=[output])
    nbformat.write(new_notebook(cells=[cell]), source / "page.ipynb")
    (source / "runs").mkdir()
    record = {"results": {"a": [0.12345, 6.6249], "b": {"loss": 0.77}}}
    (source / "runs" / "record.json").write_text(json.dumps(record))
    monkeypatch.setattr(measured_numbers, "BOOK", source)

    def run(**pages: str) -> str:
        for cached in (measured_numbers.outputs, measured_numbers.recorded):
            cached.cache_clear()
        for old in source.glob("*.rst"):
            old.unlink()
        for name, text in pages.items():
            title = ":orphan:\n\nTitle\n=====\n\n"
            (source / f"{name}.rst").write_text(title + text)
        (source / "index.rst").write_text("Index\n=====\n")
        run.out, said = build_pages(  # type: ignore[attr-defined]
            source, *EXTENSIONS, exclude_patterns=["*.ipynb"]
        )
        return said

    return run


def test_number_with_a_source_passes(build: Build):
    text = f"""It has 41.82 BLEU.
{CELL}
It has 63.1 million parameters.

See section 5.4, sections 3.1 and 6.2, and Python 3.11.

The claim is P-3.1-d, the rate is ``0.003``, and :math:`0.1` is set.

The record says :number:`6.62 record: a 1`, or :number:`12.3 % record: a 0`.

Its last words are enough: :number:`0.77 record: loss`.

The page says :number:`41.82 page: BLEU` and :number:`0.7 page: 5`.

There are 1,280 subwords and 12 words.
"""
    assert build(page=text) == ""


def test_number_without_one_is_found(build: Build):
    wrong = {
        "It has 41.83 BLEU.": "41.83",
        "It has 41.9 BLEU.": "41.9 is printed by no cell",
        "A share of 90 % is left.": "90 %",
        "The record says :number:`6.63 record: a 1`.": "no 6.63 there;",
        "It has :number:`6.62 record`.": "6.62 record`: no 6.62 there;",
        "It has :number:`6.62 record: a 0`.": "a 0`: no 6.62 there;",
        "It has :number:`6.62 record: a`.": "record: a`: no 6.62 there;",
        "It has :number:`0.77 record: oss`.": "oss`: no 0.77 there;",
        "It has :number:`41.82 page`.": "41.82 page`: no 41.82 there; a",
        "It has :number:`41.8 page: BLEU`.": "no 41.8 there;",
        "It has :number:`41.82 page: BLE`.": "BLE`: no 41.82 there;",
        "It has :number:`0.7 page: BLEU`.": "no 0.7 there;",
        "Rounded, it has 41.8 BLEU.": "41.8 is printed by no cell",
        "Cut off, it has 41 %.": "41 % is printed by no cell",
        "It is not :number:`6.62 recorder: a 1`.": "a 1`: no 6.62 there;",
        "- a list\n- with 0.6 in it": "0.6",
        "==== =====\nours 0.77\n==== =====": "0.77",
        ".. figure:: picture.svg\n   :alt: A line.\n\n   It is 0.88.": "0.88",
    }
    said = build(page="\n\n".join([CELL, *wrong]))
    for number in wrong.values():
        assert number in said
    assert said.count("WARNING") == len(wrong)


@pytest.mark.parametrize(
    ("before", "first", "second", "found"),
    [
        ("", CELL + "It has 41.82 BLEU.", "", 0),
        ("", "It has 41.82 BLEU." + CELL, "", 0),
        ("", CELL, "It has 41.82 BLEU.", 1),
        (CELL, "It has 41.82 BLEU.", "", 1),
        ("It has 41.82 BLEU.", CELL, "", 1),
    ],
)
def test_number_is_one_of_its_own_section(
    build: Build, before: str, first: str, second: str, found: int
):
    text = f"{before}\n\nOne\n---\n\n{first}\n\nTwo\n---\n\n{second}\n"
    assert build(page=text).count("41.82 is printed by no cell") == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The :de:`Hund | dog` is *der Hund*.", "der"),
        ("The *Hund* is a :de:`Hund | dog`.", "Hund"),
        ("A :de:`Hund` is here.", "has no gloss"),
        ("A :de:`Hund | dog` is a *Hund*.", ""),
        ("The dog was sweet.\n\n    Der Hund war süß.\n\nIt was *süß*.", ""),
        ("An *auto-regressive* model of this *kind*, in ``süß``.", ""),
    ],
)
def test_german_is_explained_before_it_is_used(
    build: Build, text: str, found: str
):
    said = build(page=text)
    assert found in said
    assert bool(said) == bool(found)


def test_german_says_so_to_voices(build: Build):
    build(page="The :de:`Hund | dog`.")
    html = (build.out / "page.html").read_text()  # type: ignore[attr-defined]
    assert '<em lang="de">Hund</em> (dog)' in html


@pytest.mark.parametrize(
    ("above", "below", "found"),
    [
        (PICTURE, "", False),
        ("", PICTURE, True),
        ("", "", True),
        (".. raw:: html\n\n   <svg></svg>\n\n", "", False),
    ],
)
def test_chapter_begins_with_a_picture(
    build: Build, above: str, below: str, found: bool
):
    text = f"A question?\n\n{above}\n\nSection\n-------\n\n{below}"
    assert ("no picture" in build(**{"01_page": text})) == found
    assert "no picture" not in build(page=text)


@pytest.mark.parametrize(
    ("tag", "printed", "found"),
    [
        ("", "heads 6e-17 at most", "6e-17"),
        ("", "share 1.25e-10", "1.25e-10"),
        ("", "heads below 1e-12, 3e-09 or so", ""),
        ("", "9.5e-10 expected at most 1e-10", "9.5e-10"),
        ("", "0.2, expected at most 1e-10", ""),
        ("tag_measured", "6e-17", ""),
        ("tag_small-numbers", "3e-40", ""),
        ("tag_export", "3e-40", "3e-40"),
    ],
)
def test_rounding_error_is_no_number(tag: str, printed: str, found: str):
    text = nodes.literal_block(printed, printed)
    output = nodes.container("", text, classes=["cell_output"])
    document = new_document("page")
    document += nodes.container("", output, classes=["cell", tag])
    said = page_rules.rounding_errors(document)
    assert said == ([found] if found else [])


def test_words_of_running_prose_are_counted(build: Build):
    text = f"""One two three, :math:`x + y` – four.

{PICTURE}

- five
- six ``seven`` eight

.. table:: no words

   ===== =====
   these count
   ===== =====
   not   here
   ===== =====

Code::

    not these

.. math:: nor + these

Exercises
---------

None of these.

Five questions
--------------

Nor these.

Section
-------

nine ten
"""
    assert build(**{"01_page": text}) == ""
    counts = build.out.parent / "words.json"  # type: ignore[attr-defined]
    found = json.loads(counts.read_text())
    assert found["01_page"] == found["parts I to V"] == found["all"] == 11


def test_long_chapter_is_found(build: Build):
    text = f"{PICTURE}{'word ' * 3201}"
    assert "3,201 words" in build(**{"01_page": text})
    assert build(page=text) == ""  # only a chapter has a limit of its own
