/* ---
name: failure_counts
layer: state
title: Failure call counts
inputs: [failure_counts_by_trajectory]
grain: [run_id, stratum]
merge: {n_items: sum, n_failed: sum, tp: sum, fp: sum, fn: sum, tn: sum, n_no_window: sum}
split: {progress_features: trajectory_index, failure_calls: trajectory_index}
parameters: []
definition: Calls against outcomes over all trajectories of the stratum. Failure is the positive class.
--- */
SELECT
    run_id,
    stratum,
    CAST(sum(n_items) AS BIGINT) AS n_items,
    CAST(sum(n_failed) AS BIGINT) AS n_failed,
    CAST(sum(tp) AS BIGINT) AS tp,
    CAST(sum(fp) AS BIGINT) AS fp,
    CAST(sum(fn) AS BIGINT) AS fn,
    CAST(sum(tn) AS BIGINT) AS tn,
    CAST(sum(n_no_window) AS BIGINT) AS n_no_window
FROM failure_counts_by_trajectory
GROUP BY run_id, stratum
