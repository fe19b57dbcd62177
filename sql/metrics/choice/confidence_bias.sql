/* ---
name: confidence_bias
layer: metric
title: Confidence bias
inputs: [choice_totals]
grain: [run_id, stratum]
unit: proportion
better: none
denominator: data
parameters: []
definition: Mean confidence minus accuracy, both over the labelled, answered questions. Positive is over-confident.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_answered > 0 THEN CAST((labelled_confidence_sum - hits) AS DOUBLE) / CAST(n_answered AS DOUBLE) END AS value,
    CAST(labelled_confidence_sum - hits AS DOUBLE) AS numerator,
    n_answered AS denominator,
    n AS n_items,
    n - n_answered AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_answered > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_answered > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals
