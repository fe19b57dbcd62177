"""Trusted fitted checkpoints -> predictions. It fits and selects nothing. The only package that imports torch."""
