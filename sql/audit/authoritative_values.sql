/* ---
name: authoritative_values
layer: audit
title: The value that stands for a run
inputs: [metric_values, known_bad_records]
grain: [run_id, metric, stratum, horizon_s, recall, step, protocol_fingerprint]
parameters: []
definition: Per run, metric, stratum, horizon, recall and step the value of the highest authority there is. That is frozen_catalogue, else rescored_saved_predictions, else recomputed. A sidecar is none. Values that errata name are left out before the choice. Of computed values each protocol fingerprint keeps its own row.
not: Not a statement that a lower authority agrees; rescored_against_frozen tells where it does not.
source: WISP, "Evaluation and result authority"
--- */
WITH
ranked AS (
    SELECT
        v.run_id, v.metric, v.stratum, v.horizon_s, v.recall, v.step,
        v.protocol, v.protocol_fingerprint, v.metric_fingerprint, v.data_digest, v.claimed_protocol, v.source_digest,
        v.value, v.status, v.reason, v.tainted, v.numerator, v.denominator, v.n_items, v.n_excluded, v.n_failed,
        v.unit, v.better, v.origin,
        CASE v.origin WHEN 'frozen_catalogue' THEN 1 WHEN 'rescored_saved_predictions' THEN 2 ELSE 3 END AS authority
    FROM metric_values AS v
    LEFT JOIN known_bad_records AS b
        ON b.run_id = v.run_id AND b.metric = v.metric AND b.stratum = v.stratum AND b.origin = v.origin
        AND b.horizon_s IS NOT DISTINCT FROM v.horizon_s
        AND b.recall IS NOT DISTINCT FROM v.recall
        AND b.step IS NOT DISTINCT FROM v.step
        AND b.protocol_fingerprint IS NOT DISTINCT FROM v.protocol_fingerprint
        AND b.source_digest IS NOT DISTINCT FROM v.source_digest
    WHERE v.origin <> 'sidecar' AND b.run_id IS NULL
),
-- Of equal records in several catalogues one stands for all: two that differ are refused when they are imported.
placed AS (
    SELECT
        run_id, metric, stratum, horizon_s, recall, step,
        protocol, protocol_fingerprint, metric_fingerprint, data_digest, claimed_protocol, source_digest,
        value, status, reason, tainted, numerator, denominator, n_items, n_excluded, n_failed, unit, better, origin,
        authority,
        min(authority) OVER (
            PARTITION BY run_id, metric, stratum, horizon_s, recall, step
            ORDER BY run_id ASC NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ) AS highest,
        row_number() OVER (
            PARTITION BY run_id, metric, stratum, horizon_s, recall, step, protocol_fingerprint, authority
            ORDER BY source_digest ASC NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS copy
    FROM ranked
)
SELECT
    run_id, metric, stratum, horizon_s, recall, step,
    protocol, protocol_fingerprint, metric_fingerprint, data_digest, claimed_protocol, source_digest,
    value, status, reason, tainted, numerator, denominator, n_items, n_excluded, n_failed, unit, better, origin
FROM placed
WHERE authority = highest AND copy = 1
