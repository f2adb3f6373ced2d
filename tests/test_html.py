"""The check of the built pages finds a fault of every kind."""

import pytest
from check_html import check

SOUND = """<!doctype html><html><head>
<link rel="stylesheet" href="style.css"><link rel="next" href="b.html">
<link rel="canonical" href="https://example.org/a.html">
<script src="code.js"></script></head>
<body id="top"><a href="b.html#there">b</a> <a href="#top">up</a>
<a href="https://example.org">out</a> <a href="mailto:a@example.org">a</a>
<img src="a%20b.png" alt="A cat."> <img src="data:," alt="Nothing.">
</body></html>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "a.html").write_text(SOUND)
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    (tmp_path / "style.css").write_text("p {background: url('a b.png')}")
    (tmp_path / "code.js").write_text("")
    (tmp_path / "a b.png").write_text("")
    return tmp_path


def test_sound_pages_pass(site):
    assert check(site) == []


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ('<a href="c.html">c</a>', "broken link: c.html"),
        ('<a href="b.html#here">b</a>', "broken anchor: b.html#here"),
        ('<a href="#nowhere">up</a>', "broken anchor: #nowhere"),
        ('<img src="c.png" alt="C.">', "broken link: c.png"),
        ('<img src="a b.png">', "no alt text: a b.png"),
        ('<img src="a b.png" alt=" ">', "no alt text: a b.png"),
        *(
            (element, "loads from the network: ")
            for element in (
                '<script src="https://example.org/x.js"></script>',
                '<script src="//example.org/x.js"></script>',
                '<script>load("https://example.org/x.js")</script>',
                '<link rel="stylesheet" href="https://example.org/x.css">',
                '<link rel="preload" href="https://example.org/x.woff2">',
                '<link rel="icon" href="https://example.org/x.ico">',
                '<img alt="X." src="https://example.org/x.png">',
                '<img alt="X." src="data:," srcset="//example.org/x.png 2x">',
                '<iframe src="https://example.org"></iframe>',
                '<style>@import "https://example.org/x.css";</style>',
                '<p style="background: url(//example.org/x.png)">x</p>',
            )
        ),
    ],
)
def test_planted_fault_is_found(site, fault, message):
    (site / "a.html").write_text(SOUND.replace("</body>", fault + "</body>"))
    (found,) = check(site)
    assert found.startswith(f"a.html: {message}")


def test_style_sheet_that_loads_from_the_network_is_found(site):
    css = site / "style.css"
    css.write_text("@font-face {src: url(https://example.org/x.woff2)}")
    (found,) = check(site)
    assert found.startswith("style.css: loads from the network: https:")


def test_book_that_was_not_built_is_a_fault(tmp_path):
    assert "make book" in check(tmp_path)[0]
