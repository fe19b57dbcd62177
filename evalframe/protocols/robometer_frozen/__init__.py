"""Robometer: progress, failure detection and filtering of robot videos, as the frozen evaluators define them."""

from __future__ import annotations

from evalframe.protocols.base import Parameter, Protocol

FAILED = Parameter(
    name="failed",
    default="wrong",
    meaning="A trajectory on which the model failed is called the opposite of its outcome and ranked last (wrong), or"
    " is left out (excluded). Errors, correlations, ROC-AUC and AP exclude and count it either way.",
    choices=("wrong", "excluded"),
    reading=True,
)
WINDOW = Parameter(
    name="window",
    default="any",
    meaning="The window clause looks at every window of five predictions (any), or at the last one only.",
    choices=("any", "last"),
    reading=True,
)
CONSTANT_WINDOW = Parameter(
    name="constant_window",
    default="zero",
    meaning="A window of five equal predictions has correlation 0 (zero), or has none and does not fire (never_fires).",
    choices=("zero", "never_fires"),
    reading=True,
)
LATE_MEAN_DELTA = Parameter(
    name="late_mean_delta",
    default="half_of_late_mean_plus_delta",
    meaning="The late-mean/delta score is half of: mean of the last ceil(n/2) points + last - first. Named, so that"
    " another reading would be another fingerprint.",
    choices=("half_of_late_mean_plus_delta",),
    reading=True,
)
ROWS_PER_OUTCOME = Parameter(
    name="rows_per_outcome",
    default="50",
    meaning="Successes, and failures, that the selected data set holds of each task.",
    kind="integer",
    minimum="1",
)


def _top_k(places: str) -> Parameter:
    return Parameter("top_k", places, "Candidates of each query task that filtering keeps.", "integer", minimum="1")


def _tasks(number: str) -> Parameter:
    return Parameter("tasks", number, "Tasks of the selected data set, each a query task.", "integer", minimum="1")


def _rule(*, joins: str, window_pearson_limit: str, final_clause: str) -> tuple[Parameter, ...]:
    return (
        Parameter("rule_joins", joins, "A call needs both clauses (and), or one of them (or).", choices=("and", "or")),
        Parameter(
            "window_pearson_limit",
            window_pearson_limit,
            "The window clause holds where the correlation with time is at most this.",
            "decimal",
            minimum="-1",
            maximum="1",
        ),
        Parameter(
            "final_clause",
            final_clause,
            "What the final clause looks at: success probability at most, or progress below, final_limit.",
            choices=("success_probability_at_most", "progress_below"),
        ),
        Parameter("final_limit", "0.5", "The limit of the final clause.", "decimal"),
        WINDOW,
        CONSTANT_WINDOW,
    )


def _score_range(default: str) -> Parameter:
    return Parameter(
        "score_range",
        default,
        "Filtering scores as they are (raw), or pearson, final and delta mapped to [0, 1] from fixed ranges (unit).",
        choices=("raw", "unit"),
    )


_TOP_K = ("top_k_pearson", "top_k_final", "top_k_delta", "top_k_slope", "top_k_late_mean_delta")
_METRICS = (
    "progress_mse",
    "progress_spearman",
    "progress_mae",
    "failure_precision",
    "failure_recall",
    "failure_f1",
    "failure_accuracy",
    "failure_roc_auc",
    "failure_ap",
    *_TOP_K,
)
_PRIMARY = ("progress_mse", "failure_f1", "top_k_final")
_STORED = ("progress_calls", "failure_calls", "filter_ranks")

IND = Protocol(
    name="robometer-ind",
    version="1",
    system="robometer",
    title="Twelve training tasks: progress, failure by window and success head, top-30 filtering",
    metrics=_METRICS,
    primary=_PRIMARY,
    parameters=(
        FAILED,
        *_rule(joins="and", window_pearson_limit="0", final_clause="success_probability_at_most"),
        _top_k("30"),
        _score_range("raw"),
        LATE_MEAN_DELTA,
        _tasks("12"),
        ROWS_PER_OUTCOME,
    ),
    stored=_STORED,
    items="progress_items",
    cluster="trajectory_id",
    paired=("failure_accuracy", "failure_correct"),
    secondary=frozenset({"progress_mae"}),
    claims="Its failure rule is not the one of robometer-ood; the two are never compared.",
)

OOD = Protocol(
    name="robometer-ood",
    version="1",
    system="robometer",
    title="Four held-out tasks: progress, failure by window or final progress, top-30 filtering",
    metrics=_METRICS,
    primary=_PRIMARY,
    parameters=(
        FAILED,
        *_rule(joins="or", window_pearson_limit="-0.2", final_clause="progress_below"),
        _top_k("30"),
        _score_range("raw"),
        LATE_MEAN_DELTA,
        _tasks("4"),
        ROWS_PER_OUTCOME,
    ),
    stored=_STORED,
    items="progress_items",
    cluster="trajectory_id",
    paired=("failure_accuracy", "failure_correct"),
    secondary=frozenset({"progress_mae"}),
    claims="Its failure rule is not the one of robometer-ind; the two are never compared.",
)

TOP50 = Protocol(
    name="robometer-filtering-top50",
    version="1",
    system="robometer",
    title="The later four-task filtering analysis: one pool of four tasks, top-50, scores from fixed ranges",
    metrics=("top_k_pearson", "top_k_final", "top_k_delta"),
    primary=("top_k_final",),
    parameters=(FAILED, _top_k("50"), _score_range("unit"), LATE_MEAN_DELTA, _tasks("4")),
    stored=("filter_ranks",),
    items="progress_items",
    cluster="trajectory_id",
    claims="Claims no published number: the historical aggregation was separate postprocessing and is not part of the"
    " source. Its settings are kept, not its code.",
)

PROTOCOLS = (IND, OOD, TOP50)
