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
parameters: []
definition: >-
  Events of one kind that got the same score at one horizon, with and without the wearer's outcome: what ranking
  metrics are made of, ties included. Candidates without a score stand under a null score, which every cluster has.
--- */
WITH
counted AS (
    SELECT
        run_id, cluster_id, kind, horizon_steps, stratum, score,
        count(*) FILTER (WHERE state = 'scored' AND outcome) AS n_positive,
        count(*) FILTER (WHERE state = 'scored' AND NOT outcome) AS n_negative,
        count(*) FILTER (WHERE state <> 'scored') AS n_excluded,
        count(*) FILTER (WHERE state = 'censored') AS n_censored,
        count(*) FILTER (WHERE state = 'scored' AND outcome AND NOT truncated) AS n_positive_full_horizon,
        count(*) FILTER (WHERE state = 'scored' AND NOT outcome AND NOT truncated) AS n_negative_full_horizon,
        count(*) FILTER (WHERE state <> 'scored' AND NOT truncated) AS n_excluded_full_horizon
    FROM floor_events
    WHERE role = 'evaluation'
    GROUP BY run_id, cluster_id, kind, horizon_steps, stratum, score
    UNION ALL
    SELECT run_id, cluster_id, kind, horizon_steps, stratum, CAST(NULL AS DOUBLE), 0, 0, 0, 0, 0, 0, 0
    FROM floor_cells
    WHERE population = 'observed'
)
SELECT
    c.run_id,
    c.stratum,
    c.cluster_id,
    c.kind,
    c.horizon_s,
    n.score,
    CAST(sum(n.n_positive) AS BIGINT) AS n_positive,
    CAST(sum(n.n_negative) AS BIGINT) AS n_negative,
    CAST(sum(n.n_excluded) AS BIGINT) AS n_excluded,
    CAST(sum(n.n_censored) AS BIGINT) AS n_censored,
    CAST(sum(n.n_positive_full_horizon) AS BIGINT) AS n_positive_full_horizon,
    CAST(sum(n.n_negative_full_horizon) AS BIGINT) AS n_negative_full_horizon,
    CAST(sum(n.n_excluded_full_horizon) AS BIGINT) AS n_excluded_full_horizon
FROM floor_cells AS c
JOIN counted AS n
    ON n.run_id = c.run_id
    AND n.cluster_id = c.cluster_id
    AND n.kind = c.kind
    AND n.horizon_steps = c.horizon_steps
    AND (c.stratum = 'all' OR n.stratum = c.stratum)
WHERE c.population = 'observed'
GROUP BY c.run_id, c.stratum, c.cluster_id, c.kind, c.horizon_s, n.score
