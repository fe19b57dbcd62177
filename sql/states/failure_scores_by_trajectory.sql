/* ---
name: failure_scores_by_trajectory
layer: state
title: Failure scores per trajectory
inputs: [failure_calls]
grain: [run_id, stratum, cluster_id, failure_score]
merge: {n_failures: sum, n_successes: sum}
split: {progress_features: trajectory_index, failure_calls: trajectory_index}
parameters: []
materialize: false
definition: Per trajectory with a score, overall and under its task, failures and successes at that score. Equal scores are one group.
--- */
-- A trajectory is one row of the fact, so nothing is left to add up within a cluster.
SELECT
    c.run_id,
    CASE WHEN s.whole THEN 'all' ELSE 'task=' || c.task END AS stratum,
    c.trajectory_id AS cluster_id,
    c.failure_score,
    CASE WHEN c.is_failure THEN 1 ELSE 0 END AS n_failures,
    CASE WHEN c.is_failure THEN 0 ELSE 1 END AS n_successes
FROM failure_calls AS c
CROSS JOIN (SELECT TRUE AS whole UNION ALL SELECT FALSE AS whole) AS s
WHERE c.failure_score IS NOT NULL
