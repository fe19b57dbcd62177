/* ---
name: failure_precision
layer: metric
title: Failure precision
inputs: [failure_counts]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: model
parameters: []
definition: Failures among the trajectories called a failure.
source: Robometer frozen evaluation, "IND failure detection" and "OOD failure detection"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN (tp + fp) > 0 THEN CAST(tp AS DOUBLE) / CAST((tp + fp) AS DOUBLE) END AS value,
    tp AS numerator,
    (tp + fp) AS denominator,
    n_items,
    n_items - tp - fp - fn - tn AS n_excluded,
    n_failed,
    CASE WHEN (tp + fp) > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN (tp + fp) > 0 THEN CAST(NULL AS VARCHAR) WHEN tp + fp + fn + tn = 0 THEN 'no_items' ELSE 'no_predicted_positives' END AS reason
FROM failure_counts
