/* ---
name: accuracy_at_0_9
layer: metric
title: Accuracy at 0.9
inputs: [choice_totals]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: model
parameters: []
definition: Right answers among the labelled questions answered with a confidence of at least 0.9.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_from_90 > 0 THEN CAST(hits_from_90 AS DOUBLE) / CAST(n_from_90 AS DOUBLE) END AS value,
    hits_from_90 AS numerator,
    n_from_90 AS denominator,
    n AS n_items,
    n - n_counted AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_from_90 > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_from_90 > 0 THEN NULL ELSE CASE WHEN n_counted > 0 THEN 'no_rows_above_cutoff' ELSE 'no_items' END END AS reason
FROM choice_totals
