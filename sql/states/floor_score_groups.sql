/* ---
name: floor_score_groups
layer: state
title: Floor events per score
inputs: [floor_events, floor_cells]
grain: [run_id, stratum, cluster_id, kind, horizon_s, score]
merge:
  n_positive: sum
  n_negative: sum
  n_excluded: sum
  n_censored: sum
  n_positive_full_horizon: sum
  n_negative_full_horizon: sum
  n_excluded_full_horizon: sum
split: {floor_activity: session_index, floor_forecasts: session_index}
poolable: true
parameters: []
definition: >-
  Events of one kind that got the same score at one horizon, with and without the wearer's outcome: what ranking
  metrics are made of, ties included. Candidates without a score stand under a null score, and so do clusters without
  candidates.
--- */
WITH
-- Read as one cluster, all clusters have the same cells.
cells AS (
    SELECT DISTINCT run_id, stratum, cluster_id, kind, horizon_steps, horizon_s
    FROM floor_cells
    WHERE population = 'observed'
)
SELECT
    c.run_id,
    c.stratum,
    c.cluster_id,
    c.kind,
    c.horizon_s,
    e.score,
    count(*) FILTER (WHERE e.state = 'scored' AND e.outcome) AS n_positive,
    count(*) FILTER (WHERE e.state = 'scored' AND NOT e.outcome) AS n_negative,
    count(*) FILTER (WHERE e.state <> 'scored') AS n_excluded,
    count(*) FILTER (WHERE e.state = 'censored') AS n_censored,
    count(*) FILTER (WHERE e.state = 'scored' AND e.outcome AND NOT e.truncated) AS n_positive_full_horizon,
    count(*) FILTER (WHERE e.state = 'scored' AND NOT e.outcome AND NOT e.truncated) AS n_negative_full_horizon,
    count(*) FILTER (WHERE e.state <> 'scored' AND NOT e.truncated) AS n_excluded_full_horizon
FROM cells AS c
LEFT JOIN floor_events AS e
    ON e.run_id = c.run_id
    AND e.cluster_id = c.cluster_id
    AND e.kind = c.kind
    AND e.horizon_steps = c.horizon_steps
    AND e.role = 'evaluation'
    AND (c.stratum = 'all' OR e.stratum = c.stratum)
GROUP BY c.run_id, c.stratum, c.cluster_id, c.kind, c.horizon_s, e.score
