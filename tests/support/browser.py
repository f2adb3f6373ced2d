"""A real browser for the tests: Chromium, with the network cut.

The fixtures here are registered in conftest.py. A test asks for `window` and
opens a page in it; what the page complains of and whatever it asks of the
network is noted beside it, and none of it may be there in the end. With
--no-browser all these tests are skipped.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from chromium import launch
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    sync_playwright,
)

LEFT_OUT = "left out: it needs a browser"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-browser",
        action="store_true",
        help="leave out the tests that open pages",
    )


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    if config.getoption("--no-browser"):
        for item in items:
            if "browser" in getattr(item, "fixturenames", ()):
                item.add_marker(pytest.mark.skip(reason=LEFT_OUT))


@dataclass
class Window:
    """A page of a context of its own, and what went wrong in it."""

    context: BrowserContext
    page: Page = field(init=False)
    complaints: list[str] = field(default_factory=list)
    """Errors and warnings of the console, and exceptions nobody caught."""
    escaped: list[str] = field(default_factory=list)
    """Addresses outside this machine; none of them was reached."""

    def __post_init__(self) -> None:
        self.context.on("request", self._note_request)
        self.context.on("console", self._note_message)
        self.context.on("weberror", self._note_exception)
        self.page = self.context.new_page()

    def open(self, where: Path | str) -> Page:
        """Load a file or an address and wait until its scripts have run."""
        url = where.resolve().as_uri() if isinstance(where, Path) else where
        self.page.goto(url, wait_until="load")
        self.page.evaluate("0")  # what the console said has now arrived
        return self.page

    def _note_request(self, request: Request) -> None:
        local = ("file:", "data:", "blob:")
        if not request.url.startswith(local):
            self.escaped.append(request.url)

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _note_exception(self, error: Any) -> None:
        self.complaints.append(f"uncaught: {error.error}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of a file.

    Not for the whole session: Playwright leaves an event loop running, which
    the notebooks' tests in the same process would stumble over.
    """
    with sync_playwright() as playwright:
        try:
            running = launch(playwright.chromium)
        except FileNotFoundError as error:
            pytest.fail(str(error), pytrace=False)
        yield running
        running.close()


@contextmanager
def opened(
    browser: Browser, strict: bool = True, **options: Any
) -> Iterator[Window]:
    """A window of its own; the options are those of `Browser.new_context`.

    When it closes, nothing may have gone wrong in it, if it is `strict`.
    """
    context = browser.new_context(**options)
    try:
        window = Window(context)
        yield window
        if strict:
            assert (window.complaints, window.escaped) == ([], [])
    finally:
        context.close()


@pytest.fixture
def window(browser: Browser) -> Iterator[Window]:
    """A new window, 1280 by 720."""
    with opened(browser) as window:
        yield window


SIGNS = """() => {
  const canvas = document.createElement("canvas");
  const pen = canvas.getContext("2d");
  const drawn = sign => {
    Object.assign(canvas, {width: 24, height: 24});
    pen.font = "20px sans-serif";
    pen.fillText(sign, 2, 20);
    return canvas.toDataURL();
  };
  return drawn("\u6ce8") !== drawn("\u610f");
}"""


@pytest.fixture(scope="module")
def signs(browser: Browser) -> bool:
    """Whether this machine has a font for Chinese: else all are one box."""
    with opened(browser) as window:
        found: bool = window.page.evaluate(SIGNS)
    return found


def book_folder() -> Path:
    """Where the built book is: _build/html, or where BOOK_HTML says."""
    built = Path(__file__).parents[2] / "_build" / "html"
    return Path(os.environ.get("BOOK_HTML") or built).resolve()


@pytest.fixture(scope="session")
def book() -> Path:
    """The built book's folder."""
    folder = book_folder()
    if not (folder / "index.html").is_file():
        pytest.fail(f"{folder}: no book; build it: make book", pytrace=False)
    return folder
