/* ---
name: perturbation_change
layer: metric
title: Probability change under perturbation
inputs: [choice_perturbation_totals]
grain: [run_id, stratum]
unit: probability
better: lower
denominator: data
parameters: []
definition: Mean over perturbed rows of the largest change of an option's probability against the row it was made from, options matched by key.
not: Rows whose parent is not there, was not answered, or has other options are left out and counted.
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_matched > 0 THEN CAST(change_sum AS DOUBLE) / CAST(n_matched AS DOUBLE) END AS value,
    CAST(change_sum AS DOUBLE) AS numerator,
    n_matched AS denominator,
    n AS n_items,
    n - n_matched AS n_excluded,
    n_failed AS n_failed,
    CASE WHEN n_matched > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_matched > 0 THEN NULL ELSE 'no_pairs' END AS reason
FROM choice_perturbation_totals
