/* ---
name: response_recall_full_horizon
layer: metric
title: Response recall, full horizon
inputs: [floor_trigger_totals]
grain: [run_id, stratum, horizon_s, recall]
unit: proportion
better: higher
denominator: data
parameters: []
secondary: true
definition: >-
  Share of the scored responses that trigger at the threshold for the wanted recall: the recall reached, which may
  differ from the one wanted. Only candidates whose whole horizon lies inside their recording.
--- */
SELECT
    run_id,
    stratum,
    horizon_s,
    recall,
    CASE
        WHEN calibration_positives > 0 AND n_positive > 0
            THEN CAST(n_positive_triggered AS DOUBLE) / CAST(n_positive AS DOUBLE)
    END AS value,
    CASE WHEN calibration_positives > 0 THEN n_positive_triggered END AS numerator,
    n_positive AS denominator,
    n_candidates AS n_items,
    n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN calibration_positives > 0 AND n_positive > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN calibration_positives = 0 THEN 'no_calibration_positives'
        WHEN n_positive > 0 THEN NULL
        WHEN n_candidates = 0 THEN 'no_items'
        WHEN n_censored = n_candidates THEN 'all_censored'
        ELSE 'no_positives'
    END AS reason
FROM floor_trigger_totals
WHERE population = 'full_horizon' AND kind = 'response'
