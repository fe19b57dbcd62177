/* ---
name: control_flip_rate
layer: metric
title: Control flip rate
inputs: [choice_control_totals]
grain: [run_id, stratum]
unit: proportion
better: none
denominator: data
parameters: []
definition: Rows whose predicted key differs from that of their control, among those answered on both sides.
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_answered > 0 THEN CAST(flipped AS DOUBLE) / CAST(n_answered AS DOUBLE) END AS value,
    flipped AS numerator,
    n_answered AS denominator,
    n AS n_items,
    n - n_answered AS n_excluded,
    n_matched - n_answered AS n_failed,
    CASE WHEN n_answered > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_answered > 0 THEN NULL ELSE 'no_pairs' END AS reason
FROM choice_control_totals
