"""Formulas without scripts: each one once more, as MathML."""

import sys
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
MACROS = {"R": r"\mathbb{R}", "FFN": r"\operatorname{FFN}"}


@pytest.fixture
def formulas(monkeypatch):
    monkeypatch.syspath_prepend(str(BOOK / "_ext"))
    import formulas

    yield formulas
    del sys.modules["formulas"]


def test_mathml_follows_the_tex_of_a_line(formulas):
    tex = r'<p>So <span class="math x">\(x &lt; 2\)</span> here.</p>'
    found = formulas.with_mathml(tex, MACROS)
    assert r'<span class="tex">\(x &lt; 2\)</span><noscript><math' in found
    assert "<mi>x</mi><mo>&#x0003C;</mo><mn>2</mn>" in found
    assert found.endswith("</noscript></span> here.</p>")


def test_number_of_an_equation_stays_in_sight(formulas):
    number = '<span class="eqno">(1)<a href="#e">#</a></span>'
    rows = r"\begin{aligned}a &amp;= b\\ c &amp;= d\end{aligned}"
    html = f'<div class="math x" id="e">\n{number}\\[{rows}\\]</div>'
    found = formulas.with_mathml(html, MACROS)
    assert f'{number}<span class="tex">\\[{rows}\\]</span>' in found
    assert found.count("<mtr>") == 2
    assert 'display="block"' in found


def test_macros_of_the_book_are_known(formulas):
    meant = formulas.expanded(r"x \in \R, \Rho, \FFN(x)", MACROS)
    assert meant == r"x \in \mathbb{R}, \Rho, \operatorname{FFN}(x)"


def test_text_without_formulas_stays_as_it_is(formulas):
    text = r"<p>A <code>\(x\)</code> in code.</p>"
    assert formulas.with_mathml(text, MACROS) == text
