"""Chromium, for the tests of the pages and for the print edition."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
HERE = "127.0.0.1"
# Chromium resolves no name and no address but this machine's own: the network
# is cut for pages, workers, sockets and for the browser itself.
CUT = f"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE {HERE}"


def launch(playwright: Playwright) -> Browser:
    """The machine's Chromium, or Playwright's own, with the network cut.

    Raises FileNotFoundError, which says how to install it, if none is here.
    """
    path = next(filter(None, map(shutil.which, NAMES)), None)
    path = path or playwright.chromium.executable_path
    if not Path(path).is_file():
        raise FileNotFoundError(
            "Chromium is needed, and none is here. Install it:"
            " `apt-get install chromium`, or anywhere:"
            " `.venv/bin/playwright install chromium`."
        )
    return playwright.chromium.launch(
        executable_path=path, args=["--no-sandbox", CUT]
    )
