"""Chromium, for the tests of the pages and for the print edition.

As a program: ends well if a Chromium opens a page here, and installs one if
none does. `make test` begins with it.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

from playwright.sync_api import Browser, BrowserType, Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
HERE = "127.0.0.1"
# Chromium resolves no name and no address but this machine's own: the network
# is cut for pages, workers, sockets and for the browser itself.
CUT = f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {HERE}"
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
    """The browser at a path; None if it opens no page.

    Ubuntu's `chromium`, for one, is a script that asks for a snap.
    """
    try:
        browser = chromium.launch(
            executable_path=path, args=["--no-sandbox", CUT]
        )
        with browser.new_page() as page:
            page.goto("data:,")
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


# Seconds within which a network answers. What has answered may take its time.
PATIENCE = 3
ANSWER = re.compile(r"(Get|Hit):\d|\d% of ")  # of apt-get; of Playwright
APT = """apt-get update -q
apt-get install -yq --no-install-recommends chromium"""


def ways() -> Iterator[tuple[str, list[str]]]:
    """How a Chromium can be installed here: the tool's name, its command."""
    install = [str(Path(sys.executable).with_name("playwright")), "install"]
    if shutil.which("apt-get") and os.geteuid() == 0:
        yield "apt-get", ["/bin/sh", "-c", APT]
        install.append("--with-deps")  # libraries, once more with apt-get
    yield "playwright", [*install, "chromium"]


def run(tool: str, command: list[str]) -> bool:
    """Run an installation, and say so as soon as the network answers.

    Whether it ended well; it is cut short where the network does not answer.
    """
    own = {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    process = subprocess.Popen(
        command,
        env=os.environ | own,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # what it starts is ended with it
    )

    def end() -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)

    silence = Timer(PATIENCE, end)
    silence.start()
    answered = False
    try:
        for line in process.stdout:
            if not answered and ANSWER.search(line):
                answered = True
                silence.cancel()
                print(f"No Chromium is here: {tool} installs it", flush=True)
        return process.wait() == 0
    finally:
        silence.cancel()
        end()


def main() -> int:
    """Find a Chromium, or install one; 1 if neither can be done."""
    if found() or any(run(*way) and found() for way in ways()):
        return 0
    print(NEEDED, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
