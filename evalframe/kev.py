"""KEV choice questions, from Python: the functions behind `evalframe kev ...`."""

from evalframe.verbs.kev import score
from evalframe.verbs.parity import verify_metrics

__all__ = ["score", "verify_metrics"]
