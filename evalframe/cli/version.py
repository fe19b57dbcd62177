"""What `--version` prints."""

from __future__ import annotations


def version() -> str:
    """The installed version; read only when asked, since looking it up costs more than printing help."""
    from importlib.metadata import version as installed

    return installed("evalframe")
