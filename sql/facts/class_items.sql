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
-- Only where no sample has an id: ranking costs more than everything else here.
ranked AS (
    SELECT
        l.run_id,
        l.item_index,
        l.participant,
        l.class_index,
        n.by_time,
        row_number() OVER (PARTITION BY l.run_id, l.participant ORDER BY l."time" NULLS LAST, l.item_index) - 1 AS place
    FROM class_labels AS l
    JOIN named AS n ON n.run_id = l.run_id
    WHERE NOT n.by_sample
),
windows AS (
    SELECT
        l.run_id,
        l.item_index,
        l.participant,
        l.class_index,
        l.sample_id AS item_id
    FROM class_labels AS l
    JOIN named AS n ON n.run_id = l.run_id
    WHERE n.by_sample
    UNION ALL
    SELECT
        run_id,
        item_index,
        participant,
        class_index,
        CASE WHEN by_time THEN participant || '#' || CAST(place AS VARCHAR) END AS item_id
    FROM ranked
)
SELECT
    w.run_id,
    w.item_index,
    w.item_id,
    v.class AS label,
    w.participant AS cluster_id,
    'all' AS stratum
FROM windows AS w
LEFT JOIN class_vocabulary AS v ON v.run_id = w.run_id AND v.class_index = w.class_index
