/* ---
name: failure_counts_by_trajectory
layer: state
title: Failure call counts per trajectory
inputs: [failure_calls]
grain: [run_id, stratum, cluster_id]
merge: {n_items: sum, n_left_out: sum, n_failed: sum, tp: sum, fp: sum, fn: sum, tn: sum, n_no_window: sum}
parameters: []
definition: Per trajectory, overall and under its task, how its call counts. Failure is the positive class.
--- */
WITH
placed AS (
    SELECT run_id, 'all' AS stratum, trajectory_id, is_failure, called_failure, failed, has_window FROM failure_calls
    UNION ALL
    SELECT run_id, 'task=' || task AS stratum, trajectory_id, is_failure, called_failure, failed, has_window
    FROM failure_calls
)
SELECT
    run_id,
    stratum,
    trajectory_id AS cluster_id,
    count(*) AS n_items,
    count(*) FILTER (WHERE called_failure IS NULL AND NOT failed) AS n_left_out,
    count(*) FILTER (WHERE failed) AS n_failed,
    count(*) FILTER (WHERE is_failure AND called_failure) AS tp,
    count(*) FILTER (WHERE NOT is_failure AND called_failure) AS fp,
    count(*) FILTER (WHERE is_failure AND NOT called_failure) AS fn,
    count(*) FILTER (WHERE NOT is_failure AND NOT called_failure) AS tn,
    count(*) FILTER (WHERE called_failure IS NOT NULL AND NOT failed AND NOT has_window) AS n_no_window
FROM placed
GROUP BY run_id, stratum, trajectory_id
