/* ---
name: progress_own_traces
layer: fact
title: Traces asked about the trajectory's own task
inputs: [progress_features]
grain: [run_id, step, trajectory_index]
parameters: []
materialize: false
definition: >-
  Each trajectory's trace for its own task, with what can be made of it. too_few_points: fewer than two frames, so there
  is no prefix to ask about; missing: no prediction; failed: the model failed on a prefix; else scored.
--- */
SELECT
    run_id,
    step,
    trajectory_index,
    trajectory_id,
    task,
    outcome,
    label_digest,
    n_points,
    n_failed,
    CASE
        WHEN n_frames < 2 THEN 'too_few_points'
        WHEN n_points = 0 THEN 'missing'
        WHEN n_failed > 0 THEN 'failed'
        ELSE 'scored'
    END AS status,
    window_trend,
    window_pearson,
    final_progress,
    final_success_probability,
    mse,
    mae,
    spearman
FROM progress_features
WHERE query_task = task
