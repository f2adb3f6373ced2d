"""What holds of every model in a page: it comes when wanted, and once."""

import pytest
from browser import Window, opened

# A page with each kind, what of it is seen at work, what stands there before.
KINDS = {
    "translator": ("intro", ".at-panel", "table"),
    "writer": ("18_writing", ".at-page", "pre"),
    "opened": ("12_inside_heads", ".op-figure", "p"),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


def begin(window: Window, kind: str) -> None:
    """Ask for the model: by the button, or by coming near."""
    place = window.page.locator(f".at-{kind}")
    if kind == "opened":
        place.scroll_into_view_if_needed()
    else:
        place.get_by_role("button", name="Try it here").press("Enter")


@each_kind
def test_it_comes_when_it_is_wanted_and_gives_way_on_paper(kind, book, window):
    name, live, still = KINDS[kind]
    parts = {f"{kind}_weights.js", "programs.js"}
    others = {f"{other}_weights.js" for other in KINDS} - parts
    loaded = []
    window.page.on(
        "request", lambda request: loaded.append(request.url.split("/")[-1])
    )
    page = window.open(book / "book" / f"{name}.html")
    page.wait_for_timeout(300)
    assert not parts & {*loaded}
    begin(window, kind)
    live = page.locator(live).first
    still = page.locator(f".at-{kind} .at-still {still}").first
    live.wait_for(timeout=60_000)
    assert parts <= {*loaded} and len(loaded) == len({*loaded})
    assert not others & {*loaded}
    assert not still.is_visible()
    page.emulate_media(media="print")
    assert still.is_visible() and not live.is_visible()


@each_kind
def test_without_scripts_its_example_stands(kind, book, browser):
    name, _, still = KINDS[kind]
    with opened(browser, java_script_enabled=False) as window:
        page = window.open(book / "book" / f"{name}.html")
        place = page.locator(f".at-{kind}")
        for part in (f".at-still {still}", ".at-still > p", "> .at-note"):
            assert place.locator(part).first.is_visible()
        assert place.get_by_role("button").count() == 0


@pytest.mark.parametrize("part", ["translator_weights", "programs"])
def test_a_missing_part_is_named(book, window, part):
    window.page.route(f"**/{part}.js*", lambda route: route.abort())
    page = window.open(book / "book" / "intro.html")
    begin(window, "translator")
    place = page.locator(".at-translator")
    place.get_by_text(f"cannot run here: {part}.js was not found").wait_for()
    assert place.get_by_role("table").is_visible()
    window.complaints.clear()  # Chromium tells of the missing part, too
