/* ---
name: progress_items
layer: fact
title: Evaluated trajectories
inputs: [progress_own_traces]
grain: [run_id, item_id]
parameters: []
definition: Every trajectory of the data set, predicted or not, with its outcome and the digest of its task and targets. Read before any exclusion.
--- */
SELECT
    run_id,
    trajectory_index,
    trajectory_id AS item_id,
    outcome || ' ' || label_digest AS label,
    trajectory_id AS cluster_id,
    'task=' || task AS stratum
FROM progress_own_traces
