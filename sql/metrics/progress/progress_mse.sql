/* ---
name: progress_mse
layer: metric
title: Progress error (MSE)
inputs: [progress_errors]
grain: [run_id, stratum]
unit: squared_progress
better: lower
denominator: data
parameters: []
definition: Plain mean over trajectories of each trajectory's mean squared error of predicted against target progress over its prefixes.
source: Robometer frozen evaluation, "Progress"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_scored > 0 THEN CAST(mse_sum AS DOUBLE) / CAST(n_scored AS DOUBLE) END AS value,
    CAST(mse_sum AS DOUBLE) AS numerator,
    n_scored AS denominator,
    n_items,
    n_items - n_scored AS n_excluded,
    n_failed,
    CASE WHEN n_scored > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_scored = 0 THEN 'no_items' END AS reason
FROM progress_errors
