/* ---
name: progress_mae
layer: metric
title: Progress error (MAE), recomputed
inputs: [progress_errors]
grain: [run_id, stratum]
unit: progress
better: lower
denominator: data
parameters: []
definition: Plain mean over trajectories of each trajectory's mean absolute error over its prefixes.
secondary: true
not: Not emitted by the source's evaluator; recomputed from saved predictions and targets.
source: Robometer frozen evaluation, "Progress"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_scored > 0 THEN CAST(mae_sum AS DOUBLE) / CAST(n_scored AS DOUBLE) END AS value,
    CAST(mae_sum AS DOUBLE) AS numerator,
    n_scored AS denominator,
    n_items,
    n_items - n_scored AS n_excluded,
    n_failed,
    CASE WHEN n_scored > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_scored = 0 THEN 'no_items' END AS reason
FROM progress_errors
