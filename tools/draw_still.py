"""Draw the still of chapter 5's live figure: book/figures/opened.png.

It is the figure of the built book itself, as it is before a reader touches
it: build the book, draw the still, and build again.
"""

import io
from pathlib import Path

from chapters import ROOT
from chromium import launch
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

PAGE = ROOT / "_build" / "html" / "book" / "05_model.html"
STILL = ROOT / "book" / "figures" / "opened.png"
COLOURS = 128


def still(browser: Browser, page: Path) -> Image.Image:
    """The figure, two pixels a point, on white."""
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
    drawn = figure.screenshot()
    tab.close()
    return Image.open(io.BytesIO(drawn)).convert("RGB")


def main() -> None:
    """Draw it, in few colours, so that the page stays light."""
    with sync_playwright() as playwright:
        picture = still(launch(playwright.chromium), PAGE)
    picture.quantize(COLOURS).save(STILL, optimize=True)
    print(f"{STILL.relative_to(ROOT)}: {STILL.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
