"""Draw the stills of chapter 5's live figure: two PNGs in book/figures.

They are drawn by the built book itself: the figure as it is before a reader
touches it, and the four scenes of the sentence that passes. Build the book,
draw the stills, and build again.
"""

import io
from pathlib import Path

from chapters import ROOT
from chromium import launch
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PAGE = ROOT / "_build" / "html" / "book" / "05_model.html"
FIGURES = ROOT / "book" / "figures"
COLOURS = 128
# Above the page, on white.
IN_A_ROW = """position: fixed; inset: 0 auto auto 0; z-index: 9999;
  width: 56rem; padding: 0.5rem; background: #fff;
  grid-template-columns: repeat(4, 1fr)"""


def stills(browser: Browser, page: Path) -> dict[str, Image.Image]:
    """The figure and the scenes, two pixels a point, on white."""
    tab = browser.new_page(
        viewport={"width": 1280, "height": 2000},
        device_scale_factor=2,
        color_scheme="light",
        reduced_motion="reduce",
    )
    tab.goto(page.resolve().as_uri())
    tab.locator(".at-opened").scroll_into_view_if_needed()
    figure = tab.locator(".op-figure")
    figure.wait_for()
    tab.mouse.move(0, 0)
    drawn = {"opened": figure.screenshot()}
    tab.get_by_role("button", name="Play", exact=True).press("Enter")
    scenes = tab.locator(".op-film")
    scenes.evaluate("(e, style) => (e.style = style)", IN_A_ROW)
    drawn["passing"] = scenes.screenshot()
    tab.close()
    pictures = {name: Image.open(io.BytesIO(x)) for name, x in drawn.items()}
    return {name: x.convert("RGB") for name, x in pictures.items()}


def main() -> None:
    """Draw them, in few colours, so that the page stays light."""
    with sync_playwright() as playwright:
        drawn = stills(launch(playwright.chromium), PAGE)
    for name, picture in drawn.items():
        path = FIGURES / f"{name}.png"
        picture.quantize(COLOURS).save(path, optimize=True)
        size = path.stat().st_size / 1000
        print(f"{path.relative_to(ROOT)}: {size:.0f} kB")


if __name__ == "__main__":
    main()
