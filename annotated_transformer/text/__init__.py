"""Text as people type it: made uniform, recased, and typed on purpose."""
