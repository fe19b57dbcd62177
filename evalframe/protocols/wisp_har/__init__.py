"""WISP: window classification of human activities, scored as the corrected frozen paper scorer does."""

from __future__ import annotations

from evalframe.protocols.base import Parameter, Protocol

FAILED = Parameter(
    name="failed",
    default="wrong",
    meaning="A window on which the model failed is a miss of its true class (wrong), or is left out (excluded).",
    choices=("wrong", "excluded"),
    reading=True,
)

WISP_HAR = Protocol(
    name="wisp-har",
    version="1",
    system="wisp",
    title="Window classification with a complete class vocabulary",
    metrics=("macro_f1", "accuracy", "balanced_accuracy", "worst_class_f1"),
    primary=("macro_f1", "accuracy", "balanced_accuracy", "worst_class_f1"),
    parameters=(FAILED,),
    stored=("class_outcomes", "class_confusion_by_cluster"),
    items="class_items",
    cluster="participant",
    paired=("accuracy", "class_correct"),
    claims="Scores predictions as they are. That a checkpoint loads, that its predictions are reproduced and that an"
    " export matches its data are separate gates.",
)

FROZEN_TOLERANCE = Parameter(
    name="frozen_tolerance",
    default="0.000000000001",
    meaning="Largest absolute difference between two records of one number that are said to agree.",
    kind="decimal",
    minimum="0",
    option="--tolerance",
)
"""A choice of audits, not of the protocol: it defines no metric and is part of no fingerprint."""

PROTOCOLS = (WISP_HAR,)
