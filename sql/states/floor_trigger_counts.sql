/* ---
name: floor_trigger_counts
layer: state
title: Triggers per cluster
inputs: [floor_event_counts, floor_reached_counts, operating_points]
grain: [run_id, population, stratum, cluster_id, fold, kind, horizon_s, recall]
merge:
  n_candidates: sum
  n_excluded: sum
  n_censored: sum
  n_positive: sum
  n_positive_triggered: sum
  n_negative: sum
  n_negative_triggered: sum
  calibration_positives: min
poolable: true
parameters: []
definition: >-
  Scored events whose score reaches the threshold for a wanted recall, with and without the wearer's outcome. Both
  populations share the thresholds. calibration_positives is what the threshold was chosen from; at 0 there is none
  and triggers are undefined.
--- */
WITH
-- Read as one cluster, several clusters have rows of the same cell.
cells AS (
    SELECT
        run_id, population, stratum, cluster_id, fold, kind, horizon_steps, horizon_s,
        CAST(sum(n_candidates) AS BIGINT) AS n_candidates,
        CAST(sum(n_censored + n_invalid + n_empty_window) AS BIGINT) AS n_excluded,
        CAST(sum(n_censored) AS BIGINT) AS n_censored,
        CAST(sum(n_positive) AS BIGINT) AS n_positive,
        CAST(sum(n_negative) AS BIGINT) AS n_negative
    FROM floor_event_counts
    GROUP BY run_id, population, stratum, cluster_id, fold, kind, horizon_steps, horizon_s
)
SELECT
    c.run_id,
    c.population,
    c.stratum,
    c.cluster_id,
    c.fold,
    c.kind,
    c.horizon_s,
    t.recall,
    min(c.n_candidates) AS n_candidates,
    min(c.n_excluded) AS n_excluded,
    min(c.n_censored) AS n_censored,
    min(c.n_positive) AS n_positive,
    CAST(coalesce(sum(n.n_positive), 0) AS BIGINT) AS n_positive_triggered,
    min(c.n_negative) AS n_negative,
    CAST(coalesce(sum(n.n_negative), 0) AS BIGINT) AS n_negative_triggered,
    min(t.n_positives) AS calibration_positives
FROM cells AS c
JOIN operating_points AS t
    ON t.run_id = c.run_id AND t.fold = c.fold AND t.kind = c.kind AND t.horizon_steps = c.horizon_steps
-- What reaches a threshold reaches every lower one too.
LEFT JOIN floor_reached_counts AS n
    ON n.run_id = c.run_id
    AND n.fold = c.fold
    AND n.cluster_id = c.cluster_id
    AND n.kind = c.kind
    AND n.horizon_steps = c.horizon_steps
    AND n.threshold >= t.threshold
    AND (c.stratum = 'all' OR n.stratum = c.stratum)
    AND (c.population = 'observed' OR NOT n.truncated)
GROUP BY c.run_id, c.population, c.stratum, c.cluster_id, c.fold, c.kind, c.horizon_s, t.recall
