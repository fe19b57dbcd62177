/* ---
name: nll
layer: metric
title: Negative log likelihood
inputs: [choice_totals]
grain: [run_id, stratum]
unit: nats
better: lower
denominator: data
parameters: []
definition: Mean of -ln(max(p of the right option, nll_floor)) over the labelled, answered questions.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_answered > 0 THEN CAST(nll_sum AS DOUBLE) / CAST(n_answered AS DOUBLE) END AS value,
    CAST(nll_sum AS DOUBLE) AS numerator,
    n_answered AS denominator,
    n AS n_items,
    n - n_answered AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_answered > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_answered > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals
WHERE has_probabilities
