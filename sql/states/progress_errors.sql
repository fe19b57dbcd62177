/* ---
name: progress_errors
layer: state
title: Progress error sums
inputs: [progress_errors_by_trajectory]
grain: [run_id, stratum]
merge: {n_items: sum, n_scored: sum, n_failed: sum, n_ranked: sum, mse_sum: sum, mae_sum: sum, spearman_sum: sum}
split: {progress_features: trajectory_index, progress_calls: trajectory_index}
parameters: []
definition: What the means of error and rank correlation are made of, over all trajectories of the stratum.
--- */
SELECT
    run_id,
    stratum,
    CAST(sum(n_items) AS BIGINT) AS n_items,
    CAST(sum(n_scored) AS BIGINT) AS n_scored,
    CAST(sum(n_failed) AS BIGINT) AS n_failed,
    CAST(sum(n_ranked) AS BIGINT) AS n_ranked,
    sum(mse_sum) AS mse_sum,
    sum(mae_sum) AS mae_sum,
    sum(spearman_sum) AS spearman_sum
FROM progress_errors_by_trajectory
GROUP BY run_id, stratum
