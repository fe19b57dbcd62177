/* ---
name: failure_counts_by_trajectory
layer: state
title: Failure call counts per trajectory
inputs: [failure_calls]
grain: [run_id, stratum, cluster_id]
merge: {n_items: sum, n_failed: sum, tp: sum, fp: sum, fn: sum, tn: sum, n_no_window: sum}
split: {progress_features: trajectory_index, failure_calls: trajectory_index}
parameters: []
materialize: false
definition: Per trajectory, overall and under its task, how its call counts. Failure is the positive class.
--- */
-- A trajectory is one row of the fact, so nothing is left to add up within a cluster.
SELECT
    c.run_id,
    CASE WHEN s.whole THEN 'all' ELSE 'task=' || c.task END AS stratum,
    c.trajectory_id AS cluster_id,
    1 AS n_items,
    CASE WHEN c.failed THEN 1 ELSE 0 END AS n_failed,
    CASE WHEN c.is_failure AND c.called_failure THEN 1 ELSE 0 END AS tp,
    CASE WHEN NOT c.is_failure AND c.called_failure THEN 1 ELSE 0 END AS fp,
    CASE WHEN c.is_failure AND NOT c.called_failure THEN 1 ELSE 0 END AS fn,
    CASE WHEN NOT c.is_failure AND NOT c.called_failure THEN 1 ELSE 0 END AS tn,
    CASE WHEN c.called_failure IS NOT NULL AND NOT c.failed AND NOT c.has_window THEN 1 ELSE 0 END AS n_no_window
FROM failure_calls AS c
CROSS JOIN (SELECT TRUE AS whole UNION ALL SELECT FALSE AS whole) AS s
