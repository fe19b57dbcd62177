/* ---
name: short_resume_trigger_rate_at_recall_full_horizon
layer: metric
title: False entry rate before a short restart, full horizon
inputs: [floor_short_resume_counts]
grain: [run_id, stratum, horizon_s, recall]
unit: proportion
better: lower
denominator: data
parameters: []
secondary: true
definition: >-
  Share of the scored no-response events with a short restart of the others that trigger at the threshold for the
  wanted recall. Only candidates whose whole horizon lies inside their recording.
not: A lower rate is no improvement where the recall reached is lower too.
--- */
WITH
counts AS (
    SELECT
        run_id, stratum, horizon_s, recall,
        CAST(sum(n_candidates) AS BIGINT) AS n_candidates,
        CAST(sum(n_excluded) AS BIGINT) AS n_excluded,
        CAST(sum(n_censored) AS BIGINT) AS n_censored,
        CAST(sum(n_short_resume) AS BIGINT) AS n_short_resume,
        CAST(sum(n_short_resume_triggered) AS BIGINT) AS n_short_resume_triggered,
        min(calibration_positives) AS calibration_positives
    FROM floor_short_resume_counts
    WHERE population = 'full_horizon'
    GROUP BY run_id, stratum, horizon_s, recall
)
SELECT
    run_id,
    stratum,
    horizon_s,
    recall,
    CASE
        WHEN calibration_positives > 0 AND n_short_resume > 0
            THEN CAST(n_short_resume_triggered AS DOUBLE) / CAST(n_short_resume AS DOUBLE)
    END AS value,
    CASE WHEN calibration_positives > 0 THEN n_short_resume_triggered END AS numerator,
    n_short_resume AS denominator,
    n_candidates AS n_items,
    n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN calibration_positives > 0 AND n_short_resume > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN calibration_positives = 0 THEN 'no_calibration_positives'
        WHEN n_short_resume > 0 THEN NULL
        WHEN n_candidates = 0 THEN 'no_items'
        WHEN n_censored = n_candidates THEN 'all_censored'
        ELSE 'no_items'
    END AS reason
FROM counts
