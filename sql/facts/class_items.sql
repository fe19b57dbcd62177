/* ---
name: class_items
layer: fact
title: The evaluation set of a run
inputs: [class_labels, class_vocabulary]
grain: [run_id, item_index]
parameters: []
definition: Every labelled window with the name that identifies it across runs. That is its sample_id where the source gives one for every window; else participant#rank, the rank from 0 in the participant's stable chronological order, where the source gives a time for every window; else none.
not: Not the row number. Two exports of one data set may order their rows differently.
--- */
WITH
named AS (
    SELECT
        run_id,
        bool_and(sample_id IS NOT NULL) AS by_sample,
        bool_and("time" IS NOT NULL) AS by_time
    FROM class_labels
    GROUP BY run_id
),
ranked AS (
    SELECT
        run_id,
        item_index,
        sample_id,
        participant,
        class_index,
        row_number() OVER (PARTITION BY run_id, participant ORDER BY "time" NULLS LAST, item_index) - 1 AS place
    FROM class_labels
)
SELECT
    r.run_id,
    r.item_index,
    CASE
        WHEN n.by_sample THEN r.sample_id
        WHEN n.by_time THEN r.participant || '#' || CAST(r.place AS VARCHAR)
    END AS item_id,
    v.class AS label,
    r.participant AS cluster_id,
    'all' AS stratum
FROM ranked AS r
JOIN named AS n ON n.run_id = r.run_id
LEFT JOIN class_vocabulary AS v ON v.run_id = r.run_id AND v.class_index = r.class_index
