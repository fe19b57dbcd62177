"""WISP wearable-activity windows, from Python: the functions behind `evalframe wisp ...`."""

from evalframe.verbs.wisp import score
from evalframe.verbs.wisp_audit import audit
from evalframe.verbs.wisp_evaluate import evaluate
from evalframe.verbs.wisp_exports import compare_exports
from evalframe.verbs.wisp_gate import gate

__all__ = ["audit", "compare_exports", "evaluate", "gate", "score"]
