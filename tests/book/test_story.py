"""The gist of a listing, and comparisons that find no difference."""

import ast

import chapters
import pages
import pytest
from checked import without_difference
from formulas import INLINE, WIDTH, room, roomy
from hypothesis import given
from hypothesis import strategies as st
from story import LEFT_OUT, Gist

CODE = '''\
LIMITS = {
    "a": 1,
}


@cached
def first(
    one: Tensor,
    two: Tensor,
    three: Tensor,
    four: str = "x",
) -> Tensor:
    """What it does.

    And more.
    """
    a = one + two
    if four:
        b = a
    else:
        b = three
    return b


class Second(Module):
    """A part."""

    def forward(
        self, x: Tensor
    ) -> Tensor:
        """Not seen."""
        y = x
        z = y
        return (
            z
        )
'''


def test_a_gist_is_heads_and_what_matters():
    gist = Gist(CODE, ["b = three", "return ("])
    assert gist.unknown == set()
    assert (
        gist.text
        == '''\
LIMITS = {  # …

@cached
def first(one, two, three, four="x"):
    """What it does."""
    if four:
        # …
    else:
        b = three

class Second(Module):
    """A part."""
    def forward(self, x):
        return (
            z
        )'''
    )


def test_what_is_in_no_line_is_reported():
    assert Gist(CODE, ["a = one", "c = "]).unknown == {"c = "}


EXPORTED = [
    cell.source
    for chapter in chapters.find_chapters()
    for cell in chapters.read(chapter).cells
    if "export" in cell.metadata.get("tags", ())
]


@given(st.data())
def test_a_gist_has_every_definition_and_no_line_of_its_own(data):
    code = data.draw(st.sampled_from(EXPORTED))
    lines = code.splitlines()
    some = data.draw(st.lists(st.sampled_from(lines), max_size=4))
    shown = Gist(code, [x.strip() for x in some if x.strip()]).text
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            head = lines[node.lineno - 1].partition("(")[0]
            assert head in shown.splitlines() or f"{head}(" in shown
    kept = {line.strip() for line in lines}
    for line in shown.splitlines():
        bare = line.replace(LEFT_OUT, "").strip()
        is_head = bare.startswith("def ") or line.startswith(" " * 8)
        left_out = not bare  # a line that only says that some are left out
        ours = left_out or is_head or bare.endswith('"""')
        assert ours or bare in kept, line


@pytest.mark.parametrize(
    ("printed", "none"),
    [
        ("a: largest difference 0.00000\n", True),
        ("a: largest difference 0.0000\n\nb: largest difference 0.0\n", True),
        ("gap: largest difference below 1e-12", True),
        ("from the search: largest difference 0.000 nats", True),
        ("a: largest difference 0.00001", False),
        ("a: largest difference 0.00000\nkept: 4", False),
        ("", False),
    ],
)
def test_only_zeros_are_no_difference(printed, none):
    assert without_difference(printed) == none


@pytest.mark.parametrize(
    ("tex", "signs"),
    [
        (r"\(x\)", 1),
        (r"\(\sqrt{d_k}\)", 3),
        (r"\(n \times d_{\text{model}}\)", 8),
        (r"\(A = B\)", 4),  # a sign of relation has room around it
    ],
)
def test_a_formula_has_the_room_of_its_signs(tex, signs):
    assert room(tex) == pytest.approx(WIDTH * signs)


def test_no_line_begins_with_the_comma_after_a_formula():
    alone = '<span class="math notranslate nohighlight">\\(x\\)</span>'
    page = INLINE.sub(roomy, f"from {alone}, and {alone} alone ({alone}).")
    formula = alone.replace('">', f'" style="--takes: {WIDTH:.1f}em">')
    first, last = (
        f'<span class="bound">{formula}{mark}</span>' for mark in (",", ").")
    )
    assert page == f"from {first} and {formula} alone ({last}"


@pytest.mark.parametrize("width", [1280, 390])
def test_code_and_back_leads_to_the_same_place(window, book, width):
    """Also from within a listing of which the story shows the gist."""
    window.page.set_viewport_size({"width": width, "height": 800})
    page = window.open(book / "book" / "17_modern.html")
    pages.await_scripts(page)
    for part in (0.1, 0.254, 0.449, 0.527, 0.644, 0.9):
        page.evaluate(
            "part => scrollTo(0, part * document.body.scrollHeight)", part
        )
        before = page.evaluate("scrollY")
        for kind in ("Code", "Story"):
            button = page.get_by_role("button", name=kind, exact=True)
            button.evaluate("e => e.click()")  # Playwright's own click scrolls
            page.wait_for_timeout(100)
            there = page.evaluate("scrollY")
            if kind == "Code":  # much was unfolded above
                assert there > before + 100
        assert there == pytest.approx(before, abs=1.5)


def test_what_a_reader_sees_stays_in_the_window(window, book):
    page = window.open(book / "book" / "17_modern.html")
    pages.await_scripts(page)
    heading = page.locator("h2:has-text('Do they pay?')")
    heading.evaluate("e => scrollBy(0, e.getBoundingClientRect().top - 60)")
    before = heading.bounding_box()["y"]
    for kind in ("Code", "Story"):
        button = page.get_by_role("button", name=kind, exact=True)
        button.evaluate("e => e.click()")
        page.wait_for_timeout(100)
        assert heading.bounding_box()["y"] == pytest.approx(before, abs=1.5)
