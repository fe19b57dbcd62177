/* ---
name: progress_errors_by_trajectory
layer: state
title: Progress error sums per trajectory
inputs: [progress_calls]
grain: [run_id, stratum, cluster_id]
merge: {n_items: sum, n_scored: sum, n_failed: sum, n_ranked: sum, mse_sum: sum, mae_sum: sum, spearman_sum: sum}
split: {progress_features: trajectory_index, progress_calls: trajectory_index}
parameters: []
materialize: false
definition: Per trajectory, overall and under its task, what the means of error and rank correlation are made of. A trajectory is a cluster of its own.
--- */
-- A trajectory is one row of the fact, so nothing is left to add up within a cluster.
SELECT
    c.run_id,
    CASE WHEN s.whole THEN 'all' ELSE 'task=' || c.task END AS stratum,
    c.trajectory_id AS cluster_id,
    1 AS n_items,
    CASE WHEN c.mse IS NULL THEN 0 ELSE 1 END AS n_scored,
    CASE WHEN c.status = 'failed' THEN 1 ELSE 0 END AS n_failed,
    CASE WHEN c.spearman IS NULL THEN 0 ELSE 1 END AS n_ranked,
    coalesce(CAST(c.mse AS DECIMAL(38, 15)), 0) AS mse_sum,
    coalesce(CAST(c.mae AS DECIMAL(38, 15)), 0) AS mae_sum,
    coalesce(CAST(c.spearman AS DECIMAL(38, 15)), 0) AS spearman_sum
FROM progress_calls AS c
CROSS JOIN (SELECT TRUE AS whole UNION ALL SELECT FALSE AS whole) AS s
