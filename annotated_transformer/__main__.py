"""Run the command line: python -m annotated_transformer."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C while it still loads ends it quietly."""
    try:
        from annotated_transformer.commands import app

        app.main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
