/* ---
name: class_correct
layer: compare
title: Whether each window is recognised
inputs: [class_outcomes, class_items]
grain: [run_id, stratum, item_id]
parameters: [failed]
definition: Every labelled window by the name that identifies it across runs, and whether its predicted class is the true one. A failed window is wrong, or not counted (null) with `failed = excluded`.
not: Not for tests on clusters; windows of one participant are not independent.
--- */
SELECT
    o.run_id,
    o.stratum,
    i.item_id,
    o.cluster_id,
    CASE
        WHEN o.predicted_index IS NOT NULL THEN o.predicted_index = o.target_index
        WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong' THEN FALSE
    END AS correct
FROM class_outcomes AS o
JOIN class_items AS i ON i.run_id = o.run_id AND i.item_index = o.item_index
