"""dim_metric: what every exported number means, and whether its numerators and denominators may be summed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from evalframe.protocols import Protocol, all_protocols

if TYPE_CHECKING:
    from evalframe.relations import Catalogue, Relation

RATIO_OF_SUMS, NON_ADDITIVE = "ratio_of_sums", "non_additive"

POOLED = frozenset(
    {
        # rates of single items: numerator and denominator count, or add up over, items that stand by themselves
        "accuracy",
        "choice_accuracy",
        "answer_accuracy",
        "accuracy_at_0_9",
        "coverage_at_0_9",
        "error_rate_at_0_9",
        "error_rate_at_0_95",
        "error_rate_at_0_99",
        "confident_error_rate",
        "mean_confidence",
        "confidence_bias",
        "nll",
        "brier",
        "rps",
        "score_mae",
        "flip_rate",
        "both_correct_rate",
        "invariance_rate",
        "invariant_both_correct_rate",
        "control_flip_rate",
        "control_both_correct_rate",
        "perturbation_flip_rate",
        "response_recall",
        "yield_recall",
        "no_response_trigger_rate_at_recall",
        "short_resume_trigger_rate_at_recall",
        "continue_false_stop_rate_at_recall",
        "response_recall_full_horizon",
        "yield_recall_full_horizon",
        "no_response_trigger_rate_at_recall_full_horizon",
        "short_resume_trigger_rate_at_recall_full_horizon",
        "continue_false_stop_rate_at_recall_full_horizon",
        "false_entries_per_minute_at_recall",
        "false_stops_per_minute_at_recall",
        "failure_accuracy",
        "failure_precision",
        "failure_recall",
        "failure_f1",
        "progress_mse",
        "progress_mae",
        "seconds",
        "processor_seconds",
        "seconds_of_floor",
    }
)
"""Relations whose value over disjoint sets of items is the sum of numerators over the sum of denominators.

Everything else (means over classes, areas, ranks, calibration errors, a user's own metric) is recomputed from counts or
left alone: pooling it would give a number that is no metric.
"""

_SCHEMA = pa.schema(
    [
        ("metric_key", pa.string()),
        ("protocol", pa.string()),
        ("metric", pa.string()),
        ("title", pa.string()),
        ("definition", pa.string()),
        ("not_meant", pa.string()),
        ("source", pa.string()),
        ("unit", pa.string()),
        ("better", pa.string()),
        ("denominator_of", pa.string()),
        ("additivity", pa.string()),
        ("is_primary", pa.bool_()),
        ("is_secondary", pa.bool_()),
    ]
)


class Keys:
    """The metric keys that occur in facts, each with what its first row says of the metric."""

    columns = ("metric_key", "metric", "unit", "better")

    def __init__(self) -> None:
        self.first: dict[str, dict[str, Any]] = {}

    def seen(self, facts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches as they come, looked at as they pass."""
        for batch in facts:
            keys = batch.column("metric_key")
            for key in set(keys.drop_null().unique().to_pylist()) - set(self.first):
                self.first[key] = batch.select(self.columns).slice(pc.index(keys, key).as_py(), 1).to_pylist()[0]
            yield batch


def dim_metric(relations: Catalogue, keys: Keys, dim_protocol: pa.Table) -> pa.Table:
    """One row per metric key of the facts, and per metric of every protocol that has results in the store.

    A key without a definition here (a recorded metric, a user's own relation) has its name, unit and direction only and
    is never additive.
    """
    rules = {one.label: one for one in all_protocols()}
    rows: dict[str, dict[str, Any]] = {}
    for label in sorted(set(dim_protocol["protocol"].to_pylist()) & set(rules)):
        for name in rules[label].metrics:
            row = _row(rules[label], relations[name])
            rows[row["metric_key"]] = row
    for key, fact in keys.first.items():
        rows.setdefault(key, _undescribed(fact))
    return pa.Table.from_pylist([rows[key] for key in sorted(rows)], schema=_SCHEMA)


def _row(rules: Protocol, relation: Relation) -> dict[str, Any]:
    return {
        "metric_key": f"{rules.label}:{relation.published}",
        "protocol": rules.label,
        "metric": relation.published,
        "title": relation.title,
        "definition": relation.definition,
        "not_meant": relation.not_,
        "source": relation.source,
        "unit": relation.unit,
        "better": relation.better,
        "denominator_of": relation.denominator,
        "additivity": RATIO_OF_SUMS if relation.name in POOLED else NON_ADDITIVE,
        "is_primary": relation.name in rules.primary,
        "is_secondary": relation.name in rules.secondary or relation.secondary,
    }


def _undescribed(fact: dict[str, Any]) -> dict[str, Any]:
    label, _, metric = fact["metric_key"].rpartition(":")
    return {
        "metric_key": fact["metric_key"],
        "protocol": None if label == "recorded" else label,
        "metric": metric,
        "unit": fact["unit"],
        "better": fact["better"],
        "additivity": NON_ADDITIVE,
        "is_primary": False,
        "is_secondary": True,
    }
