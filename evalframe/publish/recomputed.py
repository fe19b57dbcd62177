"""Views that ship with an export and recompute ratios from its sums, in SQL that DuckDB and PostgreSQL both read."""

from __future__ import annotations

from collections.abc import Mapping

VIEWS: Mapping[str, tuple[str, str]] = {
    "recomputed_rates": (
        "Metrics whose numerators may be summed, pooled over the runs that share protocol, data set, method and model:"
        " sums divided once. Tainted runs are left out, and each run counts by the value that stands for it.",
        """
SELECT
    f.metric_key, f.protocol_fingerprint, f.metric, f.stratum, f.horizon_s, f.recall, f.step,
    r.system, r.dataset, r.method, r.model,
    count(*) AS n_runs,
    sum(f.numerator) AS numerator,
    sum(f.denominator) AS denominator,
    sum(f.numerator) / nullif(sum(f.denominator), 0) AS value
FROM fact_metric AS f
JOIN dim_metric AS m ON m.metric_key = f.metric_key
JOIN dim_run AS r ON r.run_id = f.run_id
WHERE m.additivity = 'ratio_of_sums' AND f.is_authority AND NOT f.tainted AND f.status = 'ok'
    AND f.numerator IS NOT NULL AND f.denominator IS NOT NULL
GROUP BY f.metric_key, f.protocol_fingerprint, f.metric, f.stratum, f.horizon_s, f.recall, f.step,
    r.system, r.dataset, r.method, r.model
""",
    ),
    "recomputed_classes": (
        "Support, predictions and hits of every class that occurs, with precision, recall and F1 from their sums; F1"
        " is 0 where its denominator is 0. A failed item stays in the support unless the protocol leaves it out.",
        """
SELECT
    run_id, protocol, protocol_fingerprint, stratum, step, class,
    CAST(sum(support) AS BIGINT) AS support,
    CAST(sum(predicted) AS BIGINT) AS predicted,
    CAST(sum(hits) AS BIGINT) AS hits,
    CAST(sum(hits) AS DOUBLE PRECISION) / nullif(sum(predicted), 0) AS precision,
    CAST(sum(hits) AS DOUBLE PRECISION) / nullif(sum(support), 0) AS recall,
    coalesce(CAST(2 * sum(hits) AS DOUBLE PRECISION) / nullif(sum(support) + sum(predicted), 0), 0) AS f1
FROM (
    SELECT run_id, protocol, protocol_fingerprint, stratum, step, target_class AS class, n AS support, 0 AS predicted,
        CASE WHEN predicted_index = target_index THEN n ELSE 0 END AS hits
    FROM fact_confusion
    WHERE is_counted
    UNION ALL
    SELECT run_id, protocol, protocol_fingerprint, stratum, step, predicted_class, 0, n, 0
    FROM fact_confusion
    WHERE is_counted AND predicted_index IS NOT NULL
) AS counted
GROUP BY run_id, protocol, protocol_fingerprint, stratum, step, class
""",
    ),
    "recomputed_classification": (
        "Accuracy and the mean F1 over the classes that occur, from the counts of fact_confusion.",
        """
SELECT
    run_id, protocol, protocol_fingerprint, stratum, step,
    CAST(sum(support) AS BIGINT) AS n,
    CAST(sum(hits) AS DOUBLE PRECISION) / nullif(sum(support), 0) AS accuracy,
    sum(f1) / count(*) AS macro_f1
FROM recomputed_classes
GROUP BY run_id, protocol, protocol_fingerprint, stratum, step
""",
    ),
    "recomputed_calibration": (
        "Accuracy, mean confidence and expected calibration error from the sums of fact_bin.",
        """
SELECT
    run_id, protocol, protocol_fingerprint, stratum,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(correct) AS DOUBLE PRECISION) / nullif(sum(n), 0) AS accuracy,
    sum(confidence_sum) / nullif(sum(n), 0) AS mean_confidence,
    sum(abs(correct - confidence_sum)) / nullif(sum(n), 0) AS ece
FROM fact_bin
GROUP BY run_id, protocol, protocol_fingerprint, stratum
""",
    ),
}
"""Name -> what it says, and its SELECT over tables of the star schema or views above it."""

MACROS: Mapping[str, tuple[str, str]] = {
    "ratio_of_sums": (
        "ratio_of_sums(numerator, denominator)",
        "CAST(sum(numerator) AS DOUBLE) / nullif(sum(denominator), 0)",
    ),
    "f1_of_counts": (
        "f1_of_counts(hits, support, predicted)",
        "coalesce(CAST(2 * sum(hits) AS DOUBLE) / nullif(sum(support) + sum(predicted), 0), 0)",
    ),
}
"""DuckDB macros for a query's own grouping: name -> head and body."""
