/* ---
name: floor_trigger_totals
layer: state
title: Triggers over all clusters
inputs: [floor_trigger_counts]
grain: [run_id, population, stratum, kind, horizon_s, recall]
merge:
  n_candidates: sum
  n_excluded: sum
  n_censored: sum
  n_positive: sum
  n_positive_triggered: sum
  n_negative: sum
  n_negative_triggered: sum
  calibration_positives: min
parameters: []
definition: >-
  The counts of floor_trigger_counts over all clusters. One threshold without calibration positives, in any fold,
  leaves the triggers of its kind and horizon undefined.
--- */
SELECT
    run_id,
    population,
    stratum,
    kind,
    horizon_s,
    recall,
    CAST(sum(n_candidates) AS BIGINT) AS n_candidates,
    CAST(sum(n_excluded) AS BIGINT) AS n_excluded,
    CAST(sum(n_censored) AS BIGINT) AS n_censored,
    CAST(sum(n_positive) AS BIGINT) AS n_positive,
    CAST(sum(n_positive_triggered) AS BIGINT) AS n_positive_triggered,
    CAST(sum(n_negative) AS BIGINT) AS n_negative,
    CAST(sum(n_negative_triggered) AS BIGINT) AS n_negative_triggered,
    min(calibration_positives) AS calibration_positives
FROM floor_trigger_counts
GROUP BY run_id, population, stratum, kind, horizon_s, recall
