"""WISP wearable-activity windows, from Python: the functions behind `evalframe wisp ...`."""

from evalframe.verbs.wisp import score

__all__ = ["score"]
