"""Robometer: progress, failure detection and filtering. One function per command of `evalframe robometer`."""

from __future__ import annotations

from evalframe.verbs.robometer_evaluate import Evaluation, evaluate
from evalframe.verbs.robometer_import import import_folder
from evalframe.verbs.robometer_manifests import ManifestComparison, compare_manifests
from evalframe.verbs.robometer_score import ProgressScores, score

__all__ = [
    "Evaluation",
    "ManifestComparison",
    "ProgressScores",
    "compare_manifests",
    "evaluate",
    "import_folder",
    "score",
]
