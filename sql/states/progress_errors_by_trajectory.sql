/* ---
name: progress_errors_by_trajectory
layer: state
title: Progress error sums per trajectory
inputs: [progress_calls]
grain: [run_id, stratum, cluster_id]
merge: {n_items: sum, n_scored: sum, n_left_out: sum, n_failed: sum, n_ranked: sum, mse_sum: sum, mae_sum: sum, spearman_sum: sum}
parameters: []
definition: Per trajectory, overall and under its task, what the means of error and rank correlation are made of. A trajectory is a cluster of its own.
--- */
WITH
placed AS (
    SELECT run_id, 'all' AS stratum, trajectory_id, status, mse, mae, spearman FROM progress_calls
    UNION ALL
    SELECT run_id, 'task=' || task AS stratum, trajectory_id, status, mse, mae, spearman FROM progress_calls
)
SELECT
    run_id,
    stratum,
    trajectory_id AS cluster_id,
    count(*) AS n_items,
    count(mse) AS n_scored,
    count(*) FILTER (WHERE status IN ('too_few_points', 'missing')) AS n_left_out,
    count(*) FILTER (WHERE status = 'failed') AS n_failed,
    count(spearman) AS n_ranked,
    coalesce(sum(CAST(mse AS DECIMAL(38, 15))), 0) AS mse_sum,
    coalesce(sum(CAST(mae AS DECIMAL(38, 15))), 0) AS mae_sum,
    coalesce(sum(CAST(spearman AS DECIMAL(38, 15))), 0) AS spearman_sum
FROM placed
GROUP BY run_id, stratum, trajectory_id
