"""The data dictionary: meanings come from the contracts, roles and additivity from the star schema."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from evalframe.contracts import contracts

ADDITIVE, SEMI_ADDITIVE, PER_METRIC, NON_ADDITIVE = "additive", "semi_additive", "per_metric", "non_additive"
MEANINGS: Mapping[str, str] = {
    ADDITIVE: "may be summed over any dimension",
    SEMI_ADDITIVE: "may be summed within one run, protocol fingerprint, stratum and horizon, never across them",
    PER_METRIC: "may be summed where dim_metric.additivity is ratio_of_sums: divide the sums, never average values",
    NON_ADDITIVE: "neither summed nor averaged",
}

CONTRACTS: Mapping[str, tuple[str, ...]] = {
    "dim_run": ("runs", "metric_values"),
    "dim_protocol": ("protocols",),
    "dim_metric": ("metric_values",),
    "fact_metric": ("metric_values",),
    "fact_comparison": ("comparisons",),
    "fact_confusion": ("class_confusion_by_cluster", "failure_calls"),
    "fact_bin": ("choice_bins",),
    "fact_event": ("floor_events",),
    "fact_audit": ("audit_findings", "gate_findings", "known_bad"),
}
"""Where the meaning of a column is looked up, in this order."""

_MEASURES: Mapping[str, Mapping[str, str]] = {
    "dim_run": {"n_protocol_fingerprints": NON_ADDITIVE},
    "fact_metric": {
        "value": NON_ADDITIVE,
        "numerator": PER_METRIC,
        "denominator": PER_METRIC,
        "n_items": SEMI_ADDITIVE,
        "n_excluded": SEMI_ADDITIVE,
        "n_failed": SEMI_ADDITIVE,
    },
    "fact_comparison": dict.fromkeys(
        [
            "n_clusters",
            "baseline",
            "candidate",
            "baseline_numerator",
            "baseline_denominator",
            "candidate_numerator",
            "candidate_denominator",
            "change",
            "change_pp",
            "relative_reduction",
            "ci_low",
            "ci_high",
            "ci_low_pp",
            "ci_high_pp",
            "replicates_undefined",
            "p_value",
            "p_adjusted",
            "min_p",
            "baseline_recall",
            "candidate_recall",
            "baseline_frozen",
            "candidate_frozen",
            "n_pairs",
            "wins",
            "ties",
            "losses",
        ],
        NON_ADDITIVE,
    ),
    "fact_confusion": {"n": SEMI_ADDITIVE},
    "fact_bin": {"n": SEMI_ADDITIVE, "correct": SEMI_ADDITIVE, "confidence_sum": SEMI_ADDITIVE},
    "fact_event": {"n": SEMI_ADDITIVE, "score": NON_ADDITIVE},
    "fact_audit": {
        "observed": NON_ADDITIVE,
        "expected": NON_ADDITIVE,
        "difference": NON_ADDITIVE,
        "tolerance": NON_ADDITIVE,
        "n_compared": ADDITIVE,
        "n_different": ADDITIVE,
    },
}

_KEYS = frozenset(
    [
        "metric_key",
        "run_id",
        "protocol",
        "protocol_fingerprint",
        "metric",
        "stratum",
        "horizon_s",
        "recall",
        "step",
        "comparison_id",
        "baseline_run",
        "candidate_run",
        "method",
        "cluster_id",
        "target_index",
        "predicted_index",
        "bin",
        "fold",
        "role",
        "session",
        "kind",
        "boundary_row",
        "horizon_steps",
        "origin",
        "source_digest",
        "audit_id",
        "subject",
    ]
)

_OWN: Mapping[str, str] = {
    "metric_key": "Protocol and metric; joins facts to dim_metric. `recorded` where a value claims no protocol.",
    "method": "Tag `method` of the run.",
    "model": "Tag `model` of the run.",
    "dataset": "Tag `dataset` of the run.",
    "fold": "Tag `fold` of the run; text.",
    "seed": "Tag `seed` of the run; text.",
    "setting": "Tag `setting` of the run.",
    "step": "Tag `step` of the run, or the training step of a row.",
    "n_protocol_fingerprints": "Under how many protocol fingerprints the run has results.",
    "parameters": "What the protocol was given: a JSON object of names and values.",
    "title": "One line for people.",
    "definition": "What the number is, in words.",
    "not_meant": "What it is easily taken for and is not.",
    "source": "The passage it is read from.",
    "denominator_of": "data: equal for every run of the evaluation set; model: depends on what the model said.",
    "additivity": "ratio_of_sums: sum numerators and denominators, then divide; non_additive: recompute from counts.",
    "is_primary": "A verdict starts from it.",
    "is_secondary": "Shown only when asked for.",
    "is_authority": "This value stands for its run; the others of the same number are kept beside it.",
    "target_class": "True class by name.",
    "predicted_class": "Predicted class by name; null where the model failed.",
    "is_counted": "False where the protocol leaves the item out because the model failed on it.",
    "kind": "audit, gate or erratum.",
    "subject": "What was looked at.",
    "status": "How it ended.",
    "n": "One per row, so that a sum is a count.",
}

_SCHEMA = pa.schema(
    [
        ("table_name", pa.string()),
        ("column_name", pa.string()),
        ("position", pa.int32()),
        ("type", pa.string()),
        ("role", pa.string()),
        ("additivity", pa.string()),
        ("additivity_meaning", pa.string()),
        ("description", pa.string()),
    ]
)


def data_dictionary(tables: Mapping[str, pa.Schema]) -> pa.Table:
    """One row per column of `tables`: its type, role (key, attribute or measure), additivity and meaning."""
    rows = []
    for name, schema in tables.items():
        measures = _MEASURES.get(name, {})
        for position, field in enumerate(schema, start=1):
            additivity = measures.get(field.name)
            rows.append(
                {
                    "table_name": name,
                    "column_name": field.name,
                    "position": position,
                    "type": str(field.type),
                    "role": "measure" if additivity else "key" if field.name in _KEYS else "attribute",
                    "additivity": additivity,
                    "additivity_meaning": MEANINGS[additivity] if additivity else None,
                    "description": meaning(name, field.name),
                }
            )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def meaning(table: str, column: str) -> str:
    """What a column of the star schema means. KeyError where nobody says: an undescribed column is not exported."""
    own_first = table in ("dim_run", "dim_metric", "fact_audit")
    if own_first and column in _OWN and not (table == "dim_run" and column in ("tags", "tainted")):
        return _OWN[column]
    for name in CONTRACTS[table]:
        described = contracts()[name]
        if column in described.names:
            return described.column(column).description
    return _OWN[column]
