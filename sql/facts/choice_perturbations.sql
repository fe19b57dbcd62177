/* ---
name: choice_perturbations
layer: fact
title: Perturbed answers against their parents
inputs: [choice_answers, choice_questions]
grain: [run_id, item_index]
parameters: []
definition: >-
  A perturbed row beside the row whose id is its parent, for the same question: the largest change of an option's
  probability, options matched by key, and whether the predicted key differs.
not: Options are never matched by position; a perturbation may reorder them. Rows whose options differ are not here.
--- */
WITH
questions AS (
    SELECT dataset_id, question_index, min(parent) AS parent, min(keys) AS keys
    FROM choice_questions
    GROUP BY dataset_id, question_index
),
named AS (
    SELECT
        a.run_id,
        a.item_index,
        a.item_id,
        a.question,
        a.variant,
        a.p,
        q.parent,
        q.keys
    FROM choice_answers AS a
    JOIN questions AS q ON q.dataset_id = a.dataset_id AND q.question_index = a.question_index
    WHERE a.p IS NOT NULL
)
SELECT
    n.run_id,
    n.item_index,
    list_max(list_transform(n.keys, lambda name, place: abs(n.p[place] - o.p[list_position(o.keys, name)]))) AS parent_change,
    n.keys[list_position(n.p, list_max(n.p))] <> o.keys[list_position(o.p, list_max(o.p))] AS parent_flip
FROM named AS n
JOIN named AS o ON o.run_id = n.run_id AND o.item_id = n.parent AND o.question = n.question
WHERE n.variant <> 'clean' AND o.item_index <> n.item_index AND list_sort(n.keys) = list_sort(o.keys)
