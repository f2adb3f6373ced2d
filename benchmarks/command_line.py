"""The command line of a benchmark that writes a record."""

import argparse
from pathlib import Path


def record_path(program: str, about: str | None) -> Path:
    """Where the record goes, the only argument; `--help` measures nothing."""
    parser = argparse.ArgumentParser(
        program,
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("record", type=Path, help="a file for JSON")
    path: Path = parser.parse_args().record
    if not path.parent.is_dir():
        parser.error(f"{path}: there is no such folder")
    return path
