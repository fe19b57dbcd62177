/* ---
name: failure_recall
layer: metric
title: Failure recall
inputs: [failure_counts]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Failures that are called a failure.
source: Robometer frozen evaluation, "IND failure detection" and "OOD failure detection"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN (tp + fn) > 0 THEN CAST(tp AS DOUBLE) / CAST((tp + fn) AS DOUBLE) END AS value,
    tp AS numerator,
    (tp + fn) AS denominator,
    n_items,
    n_items - tp - fp - fn - tn AS n_excluded,
    n_failed,
    CASE WHEN (tp + fn) > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN (tp + fn) > 0 THEN CAST(NULL AS VARCHAR) WHEN tp + fp + fn + tn = 0 THEN 'no_items' ELSE 'no_positives' END AS reason
FROM failure_counts
