/* ---
name: control_pairs
layer: metric
title: Rows with a control
inputs: [choice_control_totals]
grain: [run_id, stratum]
unit: count
better: none
denominator: data
parameters: []
definition: Rows whose control_id names a row that is there, for the same question.
--- */
SELECT
    run_id,
    stratum,
    CAST(n_matched AS DOUBLE) AS value,
    n_matched AS numerator,
    CAST(NULL AS BIGINT) AS denominator,
    n AS n_items,
    n_incomplete AS n_excluded,
    n_judged_failed AS n_failed,
    'ok' AS status,
    CAST(NULL AS VARCHAR) AS reason
FROM choice_control_totals
