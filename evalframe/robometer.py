"""Robometer progress, failure detection and filtering, from Python: the functions behind `evalframe robometer ...`."""

from evalframe.verbs.robometer import compare_manifests, evaluate, import_folder, score

__all__ = ["compare_manifests", "evaluate", "import_folder", "score"]
