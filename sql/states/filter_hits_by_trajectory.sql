/* ---
name: filter_hits_by_trajectory
layer: state
title: Filtering hits per trajectory and score
inputs: [filter_ranks]
grain: [run_id, stratum, query_task, score, cluster_id, has_score, score_units]
merge: {n: sum, n_hits: sum, n_failed: sum}
parameters: []
definition: Per candidate, query task and score, overall and under the query task, its place in the order (score_units; 0 where it has no score) and whether it is a hit.
--- */
WITH
placed AS (
    SELECT run_id, 'all' AS stratum, query_task, score, trajectory_id, score_units, is_hit, failed FROM filter_ranks
    UNION ALL
    SELECT run_id, 'task=' || query_task AS stratum, query_task, score, trajectory_id, score_units, is_hit, failed
    FROM filter_ranks
)
SELECT
    run_id,
    stratum,
    query_task,
    score,
    trajectory_id AS cluster_id,
    score_units IS NOT NULL AS has_score,
    coalesce(score_units, 0) AS score_units,
    count(*) AS n,
    count(*) FILTER (WHERE is_hit) AS n_hits,
    count(*) FILTER (WHERE failed) AS n_failed
FROM placed
GROUP BY run_id, stratum, query_task, score, trajectory_id, score_units IS NOT NULL, coalesce(score_units, 0)
