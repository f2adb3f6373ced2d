"""Run the command line: python -m annotated_transformer."""

import signal
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; Ctrl-C ends it at once, except in training.

    A KeyboardInterrupt would be lost, or end in an abort, in what libraries do
    while they are loaded.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from annotated_transformer.commands import app

    try:
        app.main()
    except KeyboardInterrupt:  # the second one in training
        sys.exit(130)


if __name__ == "__main__":
    main()
