"""KEV: choice questions scored for accuracy, calibration and selective answering.

Two versions differ in how equal confidences are accepted: `kev-choice/1` row by row, as the reference implementation
does, `kev-choice/2` together, so that no number depends on the order of the rows. `kev-answers/1` is for answers of
which only right or wrong is known: no confidence, and so accuracy alone.
"""

from __future__ import annotations

from dataclasses import replace

from evalframe.protocols.base import Parameter, Protocol

FAILED = Parameter(
    name="failed",
    default="wrong",
    meaning="A question on which the model failed is a wrong answer that is never accepted (wrong), or is left out of"
    " every metric (excluded).",
    choices=("wrong", "excluded"),
    reading=True,
)
NLL_FLOOR = Parameter(
    name="nll_floor",
    default="1e-9",
    meaning="Smallest probability of the right option that the negative log likelihood sees.",
    kind="decimal",
    minimum="1e-300",
    maximum="1",
)
N_BINS = Parameter(
    name="n_bins",
    default="10",
    meaning="Confidence bins of equal width in the calibration error.",
    kind="integer",
    minimum="1",
    maximum="10000",
)
BIN_RULE = Parameter(
    name="bin_rule",
    default="left_closed",
    meaning="Which bin holds a confidence that is an edge: the upper one (left_closed), the lower one (right_closed),"
    " or whichever int(confidence * n_bins) says (truncated).",
    choices=("left_closed", "right_closed", "truncated"),
)
TEMPERATURE = Parameter(
    name="temperature",
    default="1",
    meaning="Divides the logarithms of the probabilities before they are normalised again; 1 leaves them as stored.",
    kind="decimal",
    minimum="0.001",
    maximum="1000",
)


def _ties(rule: str, meaning: str) -> Parameter:
    return Parameter(name="ties", default=rule, meaning=meaning, choices=(rule,))


_FROM_CONFIDENCE = (
    "choice_accuracy",
    "mean_confidence",
    "confidence_bias",
    "ece",
    "confident_error_rate",
    "coverage_at_0_9",
    "accuracy_at_0_9",
    "error_rate_at_0_9",
    "error_rate_at_0_95",
    "error_rate_at_0_99",
    "selective_coverage_0.5",
    "selective_accuracy_0.5",
    "selective_coverage_0.8",
    "selective_accuracy_0.8",
    "coverage_at_error_0.01",
    "coverage_at_error_0.05",
)
_FROM_PROBABILITIES = (
    "nll",
    "brier",
    "score_mae",
    "rps",
    "objective",
    "family_balanced_accuracy",
    "pairs",
    "flip_rate",
    "both_correct_rate",
    "invariant_pairs",
    "invariance_rate",
    "invariant_both_correct_rate",
    "incomplete_pairs",
    "control_pairs",
    "incomplete_control_pairs",
    "control_both_correct_rate",
    "control_flip_rate",
    "perturbation_change",
    "largest_perturbation_change",
    "perturbation_flip_rate",
)

KEV_CHOICE_2 = Protocol(
    name="kev-choice",
    version="2",
    system="kev",
    title="Choice questions; equal confidences are accepted together",
    metrics=(*_FROM_CONFIDENCE, "aurc", *_FROM_PROBABILITIES),
    primary=("choice_accuracy", "nll", "ece"),
    parameters=(
        FAILED,
        NLL_FLOOR,
        N_BINS,
        BIN_RULE,
        TEMPERATURE,
        _ties("groups", "Equal confidences are accepted or refused together; no number depends on the order of rows."),
    ),
    stored=("choice_outcomes", "choice_bins"),
    items="choice_items",
    cluster="group",
    paired=("choice_accuracy", "choice_correct"),
    primary_stratum="headline",
    claims="Calculates metrics from saved answers. Coverage at an error budget is the best in-sample threshold, not an"
    " error rate that a deployed one would keep.",
)

KEV_CHOICE_1 = replace(
    KEV_CHOICE_2,
    version="1",
    title="Choice questions; equal confidences are accepted in the order of rows",
    metrics=(*_FROM_CONFIDENCE, *_FROM_PROBABILITIES),
    parameters=(
        *KEV_CHOICE_2.parameters[:-1],
        _ties("prefix", "Equal confidences are accepted one row at a time, in the order of the rows."),
    ),
)

KEV_ANSWERS_1 = Protocol(
    name="kev-answers",
    version="1",
    system="kev",
    title="Answers of which only right or wrong is known",
    metrics=("answer_accuracy",),
    primary=("answer_accuracy",),
    parameters=(
        replace(
            FAILED,
            meaning="An attempt on which the model failed is a wrong answer (wrong), or is left out (excluded).",
        ),
    ),
    stored=(),
    items="answer_items",
    cluster="item",
    paired=("answer_accuracy", "answer_correct"),
    claims="Counts the marks that another tool gave. Whether they were given rightly is not looked into.",
)

PROTOCOLS = (KEV_CHOICE_2, KEV_CHOICE_1, KEV_ANSWERS_1)
