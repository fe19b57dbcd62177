/* ---
name: filter_hits_by_trajectory
layer: state
title: Filtering hits per trajectory and score
inputs: [filter_ranks]
grain: [run_id, stratum, query_task, score, cluster_id, has_score, score_units]
merge: {n: sum, n_hits: sum, n_failed: sum}
split: {progress_features: query_task, filter_ranks: query_task}
parameters: []
materialize: false
definition: Per candidate, query task and score, overall and under the query task, its place in the order (score_units; 0 where it has no score) and whether it is a hit.
--- */
-- A candidate is one row of the fact per query task and score, so nothing is left to add up within a cluster.
SELECT
    r.run_id,
    CASE WHEN s.whole THEN 'all' ELSE 'task=' || r.query_task END AS stratum,
    r.query_task,
    r.score,
    r.trajectory_id AS cluster_id,
    r.score_units IS NOT NULL AS has_score,
    coalesce(r.score_units, 0) AS score_units,
    1 AS n,
    CASE WHEN r.is_hit THEN 1 ELSE 0 END AS n_hits,
    CASE WHEN r.failed THEN 1 ELSE 0 END AS n_failed
FROM filter_ranks AS r
CROSS JOIN (SELECT TRUE AS whole UNION ALL SELECT FALSE AS whole) AS s
