/* ---
name: rps
layer: metric
title: Ranked probability score
inputs: [choice_scale_sums]
grain: [run_id, stratum]
unit: squared probability
better: lower
denominator: data
parameters: []
definition: Mean over the labelled, answered questions of type score of the mean over K - 1 thresholds of the squared difference of the cumulated probabilities.
not: Not the sum over thresholds, which is K - 1 times as large. Absent from populations without a question of type score.
source: KEV metric parity, "Method"
--- */
WITH
totals AS (
    SELECT
        run_id,
        stratum,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_labelled_failed) AS BIGINT) AS n_labelled_failed,
        CAST(sum(n_labelled - n_labelled_failed) AS BIGINT) AS n_answered,
        CAST(sum(rps_sum) AS DECIMAL(38, 15)) AS rps_sum
    FROM choice_scale_sums
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN n_answered > 0 THEN CAST(rps_sum AS DOUBLE) / CAST(n_answered AS DOUBLE) END AS value,
    CAST(rps_sum AS DOUBLE) AS numerator,
    n_answered AS denominator,
    n AS n_items,
    n - n_answered AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_answered > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_answered > 0 THEN NULL ELSE 'no_items' END AS reason
FROM totals
