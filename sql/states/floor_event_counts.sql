/* ---
name: floor_event_counts
layer: state
title: Floor events per cluster
inputs: [floor_reached_counts, floor_cells]
grain: [run_id, population, stratum, cluster_id, fold, kind, horizon_steps, horizon_s]
merge:
  n_candidates: sum
  n_positive: sum
  n_negative: sum
  n_censored: sum
  n_invalid: sum
  n_empty_window: sum
  n_truncated: sum
poolable: true
parameters: []
definition: >-
  How the candidates of one kind ended at one horizon. n_positive and n_negative count scored events with and without
  the wearer's outcome; n_truncated those scored outcomes whose horizon runs past the recording, which the censoring
  rule keeps.
--- */
WITH
-- Read as one cluster, all clusters have the same cells.
cells AS (
    SELECT DISTINCT run_id, population, stratum, cluster_id, fold, kind, horizon_steps, horizon_s FROM floor_cells
)
SELECT
    c.run_id,
    c.population,
    c.stratum,
    c.cluster_id,
    c.fold,
    c.kind,
    c.horizon_steps,
    c.horizon_s,
    CAST(
        coalesce(sum(n.n_positive + n.n_negative + n.n_censored + n.n_invalid + n.n_empty_window), 0) AS BIGINT
    ) AS n_candidates,
    CAST(coalesce(sum(n.n_positive), 0) AS BIGINT) AS n_positive,
    CAST(coalesce(sum(n.n_negative), 0) AS BIGINT) AS n_negative,
    CAST(coalesce(sum(n.n_censored), 0) AS BIGINT) AS n_censored,
    CAST(coalesce(sum(n.n_invalid), 0) AS BIGINT) AS n_invalid,
    CAST(coalesce(sum(n.n_empty_window), 0) AS BIGINT) AS n_empty_window,
    CAST(coalesce(sum(CASE WHEN n.truncated THEN n.n_positive END), 0) AS BIGINT) AS n_truncated
FROM cells AS c
LEFT JOIN floor_reached_counts AS n
    ON n.run_id = c.run_id
    AND n.fold = c.fold
    AND n.cluster_id = c.cluster_id
    AND n.kind = c.kind
    AND n.horizon_steps = c.horizon_steps
    AND (c.stratum = 'all' OR n.stratum = c.stratum)
    AND (c.population = 'observed' OR NOT n.truncated)
GROUP BY c.run_id, c.population, c.stratum, c.cluster_id, c.fold, c.kind, c.horizon_steps, c.horizon_s
