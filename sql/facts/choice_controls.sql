/* ---
name: choice_controls
layer: fact
title: Rows against their controls
inputs: [choice_named_answers]
grain: [run_id, item_index]
parameters: []
definition: >-
  Every row that names a control, beside the row whose id that is, for the same question. incomplete: there is no such
  row. judged: both have a right option. flipped: both were answered, with different keys.
--- */
SELECT
    r.run_id,
    r.item_index,
    r.cluster_id,
    c.item_id IS NULL AS incomplete,
    coalesce(r.labelled AND c.labelled, FALSE) AS judged,
    coalesce(r.correct AND c.correct, FALSE) AS both_correct,
    coalesce(r.failed OR c.failed, FALSE) AS failed,
    r.predicted_key IS NOT NULL AND c.predicted_key IS NOT NULL AS answered,
    coalesce(r.predicted_key <> c.predicted_key, FALSE) AS flipped
FROM choice_named_answers AS r
LEFT JOIN choice_named_answers AS c
    ON c.run_id = r.run_id AND c.item_id = r.control_id AND c.question = r.question
WHERE r.control_id IS NOT NULL
