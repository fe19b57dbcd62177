/* ---
name: progress_calls
layer: fact
title: Progress error per trajectory
inputs: [progress_own_traces]
grain: [run_id, step, trajectory_index]
split: {progress_features: trajectory_index}
parameters: []
definition: >-
  Each trajectory's mean squared error and Spearman correlation of predicted against target progress over its prefixes.
  Too short, unpredicted and failed trajectories are kept without a measure.
source: Robometer frozen evaluation, "Progress"
--- */
SELECT
    run_id,
    step,
    trajectory_index,
    trajectory_id,
    task,
    outcome,
    status,
    n_points,
    n_failed,
    CASE WHEN status = 'scored' THEN mse END AS mse,
    CASE WHEN status = 'scored' THEN mae END AS mae,
    CASE WHEN status = 'scored' THEN spearman END AS spearman,
    CASE
        WHEN status <> 'scored' OR spearman IS NOT NULL THEN CAST(NULL AS VARCHAR)
        WHEN n_points < 2 THEN 'too_few_points'
        ELSE 'constant_input'
    END AS reason
FROM progress_own_traces
