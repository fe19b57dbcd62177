/* ---
name: coverage_at_0_9
layer: metric
title: Coverage at 0.9
inputs: [choice_totals]
grain: [run_id, stratum]
unit: proportion
better: none
denominator: data
parameters: []
definition: Questions answered with a confidence of at least 0.9, divided by all questions, labelled or not.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_present > 0 THEN CAST(n_sure AS DOUBLE) / CAST(n_present AS DOUBLE) END AS value,
    n_sure AS numerator,
    n_present AS denominator,
    n AS n_items,
    n - n_present AS n_excluded,
    n_failed AS n_failed,
    CASE WHEN n_present > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_present > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals
