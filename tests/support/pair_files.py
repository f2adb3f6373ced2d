"""Files of pairs, as a corpus reads them."""

from collections.abc import Iterable
from pathlib import Path


def write(
    folder: Path, pairs: Iterable[tuple[str, str]], name: str
) -> list[Path]:
    """Files of the two sides of pairs."""
    paths = [folder / f"{name}.{side}" for side in ("en", "de")]
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return paths
