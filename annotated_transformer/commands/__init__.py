"""The command line: thin, and quick to answer."""
