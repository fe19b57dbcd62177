"""KEV choice questions, from Python: the functions behind `evalframe kev ...`."""

from evalframe.verbs.kev import score

__all__ = ["score"]
