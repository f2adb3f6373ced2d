"""Files fetched over HTTPS: continued, checked, and only then put in place."""

import shutil
from http.client import HTTPException
from pathlib import Path
from urllib import request

from annotated_transformer.errors import UserError
from annotated_transformer.files import sha256

__all__ = ["download", "https_opener"]


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
    start = part.stat().st_size if part.exists() else 0
    ask = request.Request(url, headers={"Range": f"bytes={start}-"})
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        with opener.open(ask, timeout=30) as answer:
            # 206 continues where the part ends; 200 is the file from its start
            with part.open("ab" if answer.status == 206 else "wb") as file:
                shutil.copyfileobj(answer, file)
            if answer.length:
                raise ConnectionError(f"{answer.length} bytes are missing")
    except (OSError, HTTPException) as error:
        if getattr(error, "code", None) == 416 and start:
            return  # the part had every byte
        raise UserError(
            f"{url} could not be downloaded ({str(error).strip('<>')}); "
            f"run the command again to continue, or {instead}"
        ) from error
