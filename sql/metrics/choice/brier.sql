/* ---
name: brier
layer: metric
title: Brier score
inputs: [choice_totals]
grain: [run_id, stratum]
unit: squared probability
better: lower
denominator: data
parameters: []
definition: Mean over the labelled, answered questions of the sum over options of the squared difference to the one-hot truth, from 0 to 2.
not: The class-sum form. For two options it is twice the squared error of one probability.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_answered > 0 THEN CAST(brier_sum AS DOUBLE) / CAST(n_answered AS DOUBLE) END AS value,
    CAST(brier_sum AS DOUBLE) AS numerator,
    n_answered AS denominator,
    n AS n_items,
    n - n_answered AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_answered > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_answered > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals
WHERE has_probabilities
