/* ---
name: largest_perturbation_change
layer: metric
title: Largest probability change under perturbation
inputs: [choice_perturbation_totals]
grain: [run_id, stratum]
unit: probability
better: lower
denominator: data
parameters: []
definition: Largest change of an option's probability over all perturbed rows against the row they were made from.
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_matched > 0 THEN largest_change END AS value,
    CAST(NULL AS DOUBLE) AS numerator,
    n_matched AS denominator,
    n AS n_items,
    n - n_matched AS n_excluded,
    n_failed AS n_failed,
    CASE WHEN n_matched > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_matched > 0 THEN NULL ELSE 'no_pairs' END AS reason
FROM choice_perturbation_totals
