/* ---
name: failure_accuracy
layer: metric
title: Failure accuracy
inputs: [failure_counts]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Trajectories whose call agrees with their outcome.
source: Robometer frozen evaluation, "IND failure detection" and "OOD failure detection"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN (tp + fp + fn + tn) > 0 THEN CAST((tp + tn) AS DOUBLE) / CAST((tp + fp + fn + tn) AS DOUBLE) END AS value,
    (tp + tn) AS numerator,
    (tp + fp + fn + tn) AS denominator,
    n_items,
    n_items - tp - fp - fn - tn AS n_excluded,
    n_failed,
    CASE WHEN (tp + fp + fn + tn) > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN (tp + fp + fn + tn) > 0 THEN CAST(NULL AS VARCHAR) WHEN tp + fp + fn + tn = 0 THEN 'no_items' ELSE 'no_items' END AS reason
FROM failure_counts
