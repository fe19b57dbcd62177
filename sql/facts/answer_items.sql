/* ---
name: answer_items
layer: fact
title: The marked items of a run
inputs: [answer_marks]
grain: [run_id, item_id]
parameters: []
definition: Every attempt at every item by its name, with what the right answer is where the source says it, its task, and what marks it.
not: Holds nothing that depends on an answer.
--- */
SELECT
    run_id,
    item_index,
    -- The length first, so that no two names and attempts are written alike.
    CAST(length(item_id) AS VARCHAR) || ':' || item_id || CAST(attempt AS VARCHAR) AS item_id,
    target_digest AS label,
    item_id AS cluster_id,
    coalesce(CAST(length(task) AS VARCHAR) || ':' || task, '-') || marked_by AS stratum
FROM answer_marks
