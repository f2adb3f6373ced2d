"""Trained experiments whose records the chapters read; see README.md."""
