/* ---
name: failure_scores_by_trajectory
layer: state
title: Failure scores per trajectory
inputs: [failure_calls]
grain: [run_id, stratum, cluster_id, failure_score]
merge: {n_failures: sum, n_successes: sum}
parameters: []
definition: Per trajectory with a score, overall and under its task, failures and successes at that score. Equal scores are one group.
--- */
WITH
placed AS (
    SELECT run_id, 'all' AS stratum, trajectory_id, is_failure, failure_score FROM failure_calls
    UNION ALL
    SELECT run_id, 'task=' || task AS stratum, trajectory_id, is_failure, failure_score FROM failure_calls
)
SELECT
    run_id,
    stratum,
    trajectory_id AS cluster_id,
    failure_score,
    count(*) FILTER (WHERE is_failure) AS n_failures,
    count(*) FILTER (WHERE NOT is_failure) AS n_successes
FROM placed
WHERE failure_score IS NOT NULL
GROUP BY run_id, stratum, trajectory_id, failure_score
