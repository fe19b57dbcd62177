/* ---
name: failure_correct
layer: compare
title: Whether each failure call is right
inputs: [failure_calls]
grain: [run_id, stratum, item_id]
parameters: []
definition: Every trajectory, overall and under its task, and whether its call agrees with its outcome; null where it is not called.
--- */
SELECT
    c.run_id,
    CASE WHEN s.whole THEN 'all' ELSE 'task=' || c.task END AS stratum,
    c.trajectory_id AS item_id,
    c.trajectory_id AS cluster_id,
    c.called_failure = c.is_failure AS correct
FROM failure_calls AS c
CROSS JOIN (SELECT TRUE AS whole UNION ALL SELECT FALSE AS whole) AS s
