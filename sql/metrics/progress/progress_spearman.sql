/* ---
name: progress_spearman
layer: metric
title: Progress rank correlation
inputs: [progress_errors]
grain: [run_id, stratum]
unit: correlation
better: higher
denominator: model
parameters: []
definition: Plain mean over trajectories of each trajectory's Spearman correlation of predicted and target progress, ties at their average rank.
not: A trajectory without a correlation (one prefix, or a constant side) is excluded and counted; it is not zero.
source: Robometer frozen evaluation, "Progress"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_ranked > 0 THEN CAST(spearman_sum AS DOUBLE) / CAST(n_ranked AS DOUBLE) END AS value,
    CAST(spearman_sum AS DOUBLE) AS numerator,
    n_ranked AS denominator,
    n_items,
    n_items - n_ranked AS n_excluded,
    n_failed,
    CASE WHEN n_ranked > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_scored = 0 THEN 'no_items' WHEN n_ranked = 0 THEN 'constant_input' END AS reason
FROM progress_errors
