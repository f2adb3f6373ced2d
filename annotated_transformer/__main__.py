"""Run the command line: python -m annotated_transformer."""

from annotated_transformer.cli import main

main()
