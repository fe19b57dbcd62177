/* ---
name: confident_error_rate
layer: metric
title: Confident error rate
inputs: [choice_totals]
grain: [run_id, stratum]
unit: proportion
better: lower
denominator: data
parameters: []
definition: Labelled questions answered wrongly with a confidence of at least 0.9, divided by the labelled questions.
not: Divided by all labelled questions; error_rate_at_0_9 is divided by the confident ones.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_counted > 0 THEN CAST((n_from_90 - hits_from_90) AS DOUBLE) / CAST(n_counted AS DOUBLE) END AS value,
    n_from_90 - hits_from_90 AS numerator,
    n_counted AS denominator,
    n AS n_items,
    n - n_counted AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_counted > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_counted > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals
