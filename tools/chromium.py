"""Chromium, for the tests of the pages and for the print edition.

As a program: ends well if a Chromium opens a page here, and installs one if
none does. `make test` begins with it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, BrowserType, Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
# Chromium resolves no name and no address: the network is cut for pages,
# workers, sockets and for the browser itself.
CUT = "--host-resolver-rules=MAP * ~NOTFOUND"
SOUND: set[str] = set()  # where those are that have opened a page
NEEDED = (
    "The pages are tested and printed with Chromium, and none opens a page"
    " here. Type: .venv/bin/playwright install --with-deps chromium"
    " (or test all the rest: make test BROWSER=none)"
)


def places(chromium: BrowserType) -> Iterator[str]:
    """Where a Chromium may be: on the PATH, or where Playwright puts one."""
    yield from filter(None, map(shutil.which, NAMES))
    yield chromium.executable_path


def started(chromium: BrowserType, path: str) -> Browser | None:
    """The browser at a path; None if it opens no page, tried once.

    Ubuntu's `chromium`, for one, is a script that asks for a snap.
    """
    try:
        browser = chromium.launch(
            executable_path=path, args=["--no-sandbox", CUT]
        )
        if path not in SOUND:
            with browser.new_page() as page:
                page.goto("data:,")
            SOUND.add(path)
    except Error:
        return None
    return browser


def launch(chromium: BrowserType) -> Browser:
    """The first Chromium that opens a page, with the network cut.

    Raises FileNotFoundError, which says what to type, if none does.
    """
    for path in places(chromium):
        if browser := started(chromium, path):
            return browser
    raise FileNotFoundError(NEEDED)


def found() -> bool:
    """Whether a Chromium opens a page on this machine."""
    with sync_playwright() as playwright:
        try:
            launch(playwright.chromium).close()
        except FileNotFoundError:
            return False
    return True


# Where no network answers, an installation is soon over.
QUICK = ["-q", "-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=3"]
QUICK += ["-o", "APT::Update::Error-Mode=any"]
ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "3000",
}


def run(*command: str) -> bool:
    """Run a command without a word; whether it ended well."""
    ended = subprocess.run(
        command,
        env=os.environ | ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    return ended.returncode == 0


def install() -> None:
    """Install a Chromium: with apt-get where we may, else with Playwright."""
    libraries = []
    may = shutil.which("apt-get") and os.geteuid() == 0
    if may and run("apt-get", *QUICK, "update"):
        words = ["install", "-y", "--no-install-recommends", "chromium"]
        if run("apt-get", *QUICK, *words) and found():
            return
        libraries = ["--with-deps"]
    playwright = Path(sys.executable).with_name("playwright")
    run(str(playwright), "install", *libraries, "chromium")


def main() -> int:
    """Find a Chromium, or install one; 1 if neither can be done."""
    if found():
        return 0
    print("No Chromium is here: it is being installed", flush=True)
    install()
    if found():
        return 0
    print(NEEDED, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
