/* ---
name: choice_named_answers
layer: fact
title: Answers by name
inputs: [choice_outcomes, choice_questions]
grain: [run_id, item_index]
parameters: []
definition: >-
  Every outcome with the names behind its numbers: the predicted and the right option's key, the family of tasks (the
  task where none is given), and the rows it belongs with: pair, sibling, control, parent.
--- */
WITH
-- One row per question, however many runs brought it.
questions AS (
    SELECT
        dataset_id,
        question_index,
        min(coalesce(family, task)) AS family,
        min(keys) AS keys,
        min(pair_id) AS pair_id,
        min(sibling) AS sibling,
        min(control_id) AS control_id,
        min(parent) AS parent
    FROM choice_questions
    GROUP BY dataset_id, question_index
)
SELECT
    o.run_id,
    o.item_index,
    o.item_id,
    o.question,
    o.cluster_id,
    o.cell_index,
    o.source,
    o.task,
    o.type,
    o.variant,
    coalesce(q.family, o.task) AS family,
    o.failed,
    o.labelled,
    o.correct,
    q.keys[o.predicted + 1] AS predicted_key,
    q.keys[o.label + 1] AS truth_key,
    q.pair_id,
    q.sibling,
    q.control_id,
    q.parent
FROM choice_outcomes AS o
LEFT JOIN questions AS q ON q.dataset_id = o.dataset_id AND q.question_index = o.question_index
