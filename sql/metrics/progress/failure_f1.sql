/* ---
name: failure_f1
layer: metric
title: Failure F1
inputs: [failure_counts]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: model
parameters: []
definition: 2tp / (2tp + fp + fn) with failure as the positive class.
not: Not the mean over both classes; success is only the negative class.
source: Robometer frozen evaluation, "IND failure detection" and "OOD failure detection"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN (2 * tp + fp + fn) > 0 THEN CAST(2 * tp AS DOUBLE) / CAST((2 * tp + fp + fn) AS DOUBLE) END AS value,
    2 * tp AS numerator,
    (2 * tp + fp + fn) AS denominator,
    n_items,
    n_items - tp - fp - fn - tn AS n_excluded,
    n_failed,
    CASE WHEN (2 * tp + fp + fn) > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN (2 * tp + fp + fn) > 0 THEN CAST(NULL AS VARCHAR) WHEN tp + fp + fn + tn = 0 THEN 'no_items' ELSE 'no_positives' END AS reason
FROM failure_counts
