/* ---
name: answer_correct
layer: compare
title: Whether each marked answer is right
inputs: [answer_outcomes, answer_items]
grain: [run_id, stratum, item_id]
parameters: []
definition: Every attempt by the name that identifies it across runs, in the whole, and whether it is right; null where it is not counted.
not: Not for tests on clusters; the attempts at one item are not independent.
--- */
SELECT
    o.run_id,
    'all' AS stratum,
    i.item_id,
    o.cluster_id,
    o.correct
FROM answer_outcomes AS o
JOIN answer_items AS i ON i.run_id = o.run_id AND i.item_index = o.item_index
