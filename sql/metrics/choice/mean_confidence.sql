/* ---
name: mean_confidence
layer: metric
title: Mean confidence
inputs: [choice_totals]
grain: [run_id, stratum]
unit: proportion
better: none
denominator: data
parameters: []
definition: Mean of the largest probability over all answered questions, labelled or not.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN (n - n_failed) > 0 THEN CAST(confidence_sum AS DOUBLE) / CAST((n - n_failed) AS DOUBLE) END AS value,
    CAST(confidence_sum AS DOUBLE) AS numerator,
    (n - n_failed) AS denominator,
    n AS n_items,
    n_failed AS n_excluded,
    n_failed AS n_failed,
    CASE WHEN (n - n_failed) > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN (n - n_failed) > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals
