"""Files fetched over HTTPS: continued, checked, and only then put in place."""

from http.client import HTTPException
from pathlib import Path
from threading import Event, Thread
from urllib import request
from urllib.error import HTTPError

from annotated_transformer.errors import UserError
from annotated_transformer.system.atomic_files import sha256

__all__ = ["download", "https_opener"]

MOST_BYTES, MOST_SECONDS = 1 << 26, 600  # of one file


def https_opener() -> request.OpenerDirector:
    """Make an opener that speaks HTTPS alone, after a redirect as well."""
    opener = request.OpenerDirector()
    opener.add_handler(request.ProxyHandler())
    opener.add_handler(request.HTTPSHandler())
    opener.add_handler(request.HTTPRedirectHandler())
    opener.add_handler(request.HTTPDefaultErrorHandler())
    opener.add_handler(request.HTTPErrorProcessor())
    opener.add_handler(request.UnknownHandler())
    return opener


def download(
    url: str,
    path: Path,
    expected: str,
    instead: str,
    opener: request.OpenerDirector,
) -> None:
    """Fetch a file whose SHA-256 is `expected`, unless it is there already.

    Bytes gather in `path` + `.part`, which a later call continues; the name
    `path` appears only once the sum is right. `instead` is the advice to give
    where the network fails: how to get the file without this function.
    """
    part = path.with_name(f"{path.name}.part")
    present = path.exists()
    if not present:
        _fetch(url, part, instead, opener)
    found = sha256(path if present else part)
    if found == expected:
        if not present:
            part.replace(path)
        return
    if not present:
        part.unlink()
    mend = "delete it, then run" if present else "it was not kept; run"
    raise UserError(
        f"{path} is damaged: its SHA-256 is {found}, not {expected}; {mend} "
        f"the command again to download {url}"
    )


def _fetch(
    url: str, part: Path, instead: str, opener: request.OpenerDirector
) -> None:
    failed: list[Exception] = []
    late = Event()

    def work() -> None:
        try:
            _receive(url, part, opener, late)
        except (OSError, HTTPException, ValueError) as error:
            failed.append(error)

    # A server can keep its reader waiting for ever, a byte at a time; a
    # thread that waits there is left behind.
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(MOST_SECONDS)
    if thread.is_alive():
        late.set()
        failed.append(TimeoutError(f"not done after {MOST_SECONDS} seconds"))
    if failed:
        raise UserError(
            f"{url} could not be downloaded ({str(failed[0]).strip('<>')}); "
            f"run the command again to continue, or {instead}"
        ) from failed[0]


def _receive(
    url: str, part: Path, opener: request.OpenerDirector, late: Event
) -> None:
    """Append what a server sends to the part, until it is too late."""
    start = part.stat().st_size if part.exists() else 0
    ask = request.Request(url, headers={"Range": f"bytes={start}-"})
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        answer = opener.open(ask, timeout=30)
    except HTTPError as error:
        if error.code == 416 and start:
            return  # the part had every byte
        raise
    with answer:
        # 206 continues where the part ends; 200 is the file from its start
        with part.open("ab" if answer.status == 206 else "wb") as file:
            while (data := answer.read1(1 << 16)) and not late.is_set():
                file.write(data)
                if file.tell() > MOST_BYTES:
                    part.unlink()
                    raise OSError(f"it has more than {MOST_BYTES:,} bytes")
        if answer.length:
            raise ConnectionError(f"{answer.length} bytes are missing")
