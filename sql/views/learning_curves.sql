/* ---
name: learning_curves
layer: view
title: Learning curves
inputs: [metric_values, runs]
grain: [series, protocol_fingerprint, metric, stratum, horizon_s, recall, step]
parameters: []
definition: >-
  Metric values over training steps: runs that carry the tag `step`, lined up by the tag `series`, or by their run id up
  to the last @. Only values of one definition and one evaluation set stand in one curve; base_value is the one at the
  curve's first step.
--- */
WITH
stepped AS (
    SELECT
        run_id,
        coalesce(tags['series'], regexp_replace(run_id, '@[^@]*$', '')) AS series,
        TRY_CAST(tags['step'] AS BIGINT) AS training_step
    FROM runs
),
points AS (
    SELECT
        s.series,
        s.training_step,
        v.run_id,
        v.protocol,
        v.protocol_fingerprint,
        v.metric,
        v.metric_fingerprint,
        v.data_digest,
        v.stratum,
        v.horizon_s,
        v.recall,
        v.value,
        v.status,
        v.reason,
        v.tainted,
        v.n_items,
        v.n_failed,
        v.unit,
        v.better
    FROM metric_values AS v
    JOIN stepped AS s ON s.run_id = v.run_id
    WHERE s.training_step IS NOT NULL
)
SELECT
    series,
    training_step AS step,
    run_id,
    protocol,
    protocol_fingerprint,
    metric,
    stratum,
    horizon_s,
    recall,
    value,
    first_value(value) OVER (
        PARTITION BY series, protocol_fingerprint, metric_fingerprint, data_digest, metric, stratum, horizon_s, recall
        ORDER BY training_step NULLS LAST, run_id NULLS LAST
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
    ) AS base_value,
    status,
    reason,
    tainted,
    n_items,
    n_failed,
    unit,
    better
FROM points
