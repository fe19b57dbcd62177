/* ---
name: perturbation_flip_rate
layer: metric
title: Flip rate under perturbation
inputs: [choice_perturbation_totals]
grain: [run_id, stratum]
unit: proportion
better: lower
denominator: data
parameters: []
definition: Perturbed rows whose predicted key differs from that of the row they were made from.
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_matched > 0 THEN CAST(flipped AS DOUBLE) / CAST(n_matched AS DOUBLE) END AS value,
    flipped AS numerator,
    n_matched AS denominator,
    n AS n_items,
    n - n_matched AS n_excluded,
    n_failed AS n_failed,
    CASE WHEN n_matched > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_matched > 0 THEN NULL ELSE 'no_pairs' END AS reason
FROM choice_perturbation_totals
