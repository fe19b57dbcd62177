/* ---
name: failure_scores
layer: state
title: Failures and successes per failure score
inputs: [failure_scores_by_trajectory]
grain: [run_id, stratum, failure_score]
merge: {n_failures: sum, n_successes: sum}
split: {progress_features: trajectory_index, failure_calls: trajectory_index}
parameters: []
definition: Failures and successes at each distinct 1 - final success probability, over all trajectories of the stratum.
--- */
SELECT
    run_id,
    stratum,
    failure_score,
    CAST(sum(n_failures) AS BIGINT) AS n_failures,
    CAST(sum(n_successes) AS BIGINT) AS n_successes
FROM failure_scores_by_trajectory
GROUP BY run_id, stratum, failure_score
