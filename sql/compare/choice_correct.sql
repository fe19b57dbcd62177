/* ---
name: choice_correct
layer: compare
title: Whether each question is answered right
inputs: [choice_outcomes, choice_items, choice_strata]
grain: [run_id, stratum, item_id]
parameters: []
definition: Every question by the name that identifies it across runs, in each population, and whether its answer is the right one; null where it is not counted.
not: Not for tests on clusters; questions of one group are not independent.
--- */
SELECT
    o.run_id,
    s.stratum,
    i.item_id,
    o.cluster_id,
    o.correct
FROM choice_outcomes AS o
JOIN choice_items AS i ON i.run_id = o.run_id AND i.item_index = o.item_index
JOIN choice_strata AS s ON s.run_id = o.run_id AND s.cell_index = o.cell_index
