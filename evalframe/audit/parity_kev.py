"""The KEV reference: its published pins, what its functions are called with, and which numbers they should give."""

from __future__ import annotations

from collections.abc import Mapping

from evalframe.audit.parity import Comparison, Exercise
from evalframe.audit.parity_inputs import choice_batches
from evalframe.audit.parity_process import Call
from evalframe.audit.parity_reference import Pin

PROTOCOL = "kev-choice/1"
SEED, BATCHES, ROWS = 483, 100, 50

PINS = (
    Pin("kev/evaluate.py", "1b20e3f9edf417aa8dae924b1526e52f74b710cadf7213c5ec68334f6e7f8fe1", ("ece",)),
    Pin(
        "kev/benchmark.py",
        "4192ec3b26b065452f84bde38a091e6854a28fe185d2e0f39a0c91b2efe69df7",
        ("coverage_at_error", "metrics"),
    ),
    Pin("kev/contrastive.py", "cbb979aa5d40265ad0e64695f94b281d91751fa405811ddfa8212fede111edcf", ("paired_flip",)),
)
"""Commit 4f8110a3f8620cc3a182ae9a708e4398492c4b1a. Source: KEV metric parity, "Method"."""

Paths = tuple[tuple[str, ...], ...]

_SCALARS: Mapping[str, Paths] = {
    "choice_accuracy": (("acc",), ("accuracy",)),
    "nll": (("nll",),),
    "brier": (("brier",),),
    "ece": (("ece",),),
    "mean_confidence": (("mean_conf",), ("mean_confidence",)),
    "confidence_bias": (("confidence_bias",),),
    "confident_error_rate": (("confident_error_rate",),),
    "coverage_at_0_9": (("coverage_at_0_9",),),
    "accuracy_at_0_9": (("accuracy_at_0_9",),),
    "coverage_at_error_0.01": (("coverage_at_1pct_error",), ("coverage_at_error_0.01",)),
    "coverage_at_error_0.05": (("coverage_at_5pct_error",), ("coverage_at_error_0.05",)),
    "score_mae": (("score_mae",),),
    "rps": (("ranked_probability_score",), ("rps",)),
}
"""The metrics that the published audit compared, under the names the reference and this project give them."""

_FURTHER: Mapping[str, Paths] = {
    "error_rate_at_0_9": (("error_rate_at_0_9",), ("top_bins", "0.9", "error_rate")),
    "error_rate_at_0_95": (("top_bins", "0.95", "error_rate"),),
    "error_rate_at_0_99": (("top_bins", "0.99", "error_rate"),),
    "selective_coverage_0.5": (("selective", "0.5", "coverage"),),
    "selective_accuracy_0.5": (("selective", "0.5", "accuracy"),),
    "selective_coverage_0.8": (("selective", "0.8", "coverage"),),
    "selective_accuracy_0.8": (("selective", "0.8", "accuracy"),),
}
"""Compared where a version of the reference gives them."""

_PAIRS = (
    "pairs", "flip_rate", "both_correct_rate", "invariant_pairs", "invariance_rate", "invariant_both_correct_rate",
)  # fmt: skip


def exercises(*, complete: bool) -> tuple[Exercise, ...]:
    """The seeded rows and the ten pairs. complete: every number of the published audit must be given back."""
    batches, pairs = choice_batches(SEED, BATCHES, ROWS)
    whole = Call("metrics", ("rows",))
    budgets = {"coverage_at_error_0.01": 0.01, "coverage_at_error_0.05": 0.05}
    comparisons = (
        *(Comparison(name, whole, paths, required=complete) for name, paths in _SCALARS.items()),
        *(Comparison(name, whole, paths) for name, paths in _FURTHER.items()),
        Comparison("ece", Call("ece", ("confidences", "correct"))),
        *(
            Comparison(name, Call("coverage_at_error", ("confidences", "correct", budget)))
            for name, budget in budgets.items()
        ),
    )
    told = f"default_rng({SEED}): {BATCHES} batches of {ROWS} rows, choice, boolean and ordinal, 2 to 10 options"
    flip = Call("paired_flip", ("rows",))
    return (
        Exercise("rows", "choices", batches, comparisons, told),
        # Counts and quotients of counts: no tolerance is needed.
        Exercise(
            "pairs",
            "choices",
            [pairs],
            tuple(Comparison(name, flip, ((name,),), tolerance=0.0, required=complete) for name in _PAIRS),
            "ten complete pairs, five with changed right options and five with the same",
        ),
    )
