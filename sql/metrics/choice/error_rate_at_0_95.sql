/* ---
name: error_rate_at_0_95
layer: metric
title: Error rate at 0.95
inputs: [choice_totals]
grain: [run_id, stratum]
unit: proportion
better: lower
denominator: model
parameters: []
definition: Wrong answers among the labelled questions answered with a confidence of at least 0.95.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_from_95 > 0 THEN CAST((n_from_95 - hits_from_95) AS DOUBLE) / CAST(n_from_95 AS DOUBLE) END AS value,
    n_from_95 - hits_from_95 AS numerator,
    n_from_95 AS denominator,
    n AS n_items,
    n - n_counted AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_from_95 > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_from_95 > 0 THEN NULL ELSE CASE WHEN n_counted > 0 THEN 'no_rows_above_cutoff' ELSE 'no_items' END END AS reason
FROM choice_totals
