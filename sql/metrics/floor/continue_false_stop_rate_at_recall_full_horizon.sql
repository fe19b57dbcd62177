/* ---
name: continue_false_stop_rate_at_recall_full_horizon
layer: metric
title: False stop rate, full horizon
inputs: [floor_trigger_totals]
grain: [run_id, stratum, horizon_s, recall]
unit: proportion
better: lower
denominator: data
parameters: []
secondary: true
definition: >-
  Share of the scored events in which the wearer went on that trigger at the threshold for the wanted recall. Only
  candidates whose whole horizon lies inside their recording.
not: A lower rate is no improvement where the recall reached is lower too.
--- */
SELECT
    run_id,
    stratum,
    horizon_s,
    recall,
    CASE
        WHEN calibration_positives > 0 AND n_negative > 0
            THEN CAST(n_negative_triggered AS DOUBLE) / CAST(n_negative AS DOUBLE)
    END AS value,
    CASE WHEN calibration_positives > 0 THEN n_negative_triggered END AS numerator,
    n_negative AS denominator,
    n_candidates AS n_items,
    n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN calibration_positives > 0 AND n_negative > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN calibration_positives = 0 THEN 'no_calibration_positives'
        WHEN n_negative > 0 THEN NULL
        WHEN n_candidates = 0 THEN 'no_items'
        WHEN n_censored = n_candidates THEN 'all_censored'
        ELSE 'no_items'
    END AS reason
FROM floor_trigger_totals
WHERE population = 'full_horizon' AND kind = 'yield'
