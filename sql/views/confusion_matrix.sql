/* ---
name: confusion_matrix
layer: view
title: Confusion matrix
inputs: [class_confusion_by_cluster, class_scores]
grain: [run_id, stratum, target_index, predicted_index]
parameters: []
definition: K x K counts over the complete vocabulary, rows are true classes and columns predicted ones; absent classes are rows and columns of zeros. Failed windows stand in no cell.
--- */
WITH
counts AS (
    SELECT run_id, stratum, target_index, predicted_index, sum(n) AS n
    FROM class_confusion_by_cluster
    WHERE predicted_index IS NOT NULL
    GROUP BY run_id, stratum, target_index, predicted_index
)
SELECT
    t.run_id,
    t.stratum,
    t.class_index AS target_index,
    p.class_index AS predicted_index,
    CAST(coalesce(c.n, 0) AS BIGINT) AS n
FROM class_scores AS t
JOIN class_scores AS p ON p.run_id = t.run_id AND p.stratum = t.stratum
LEFT JOIN counts AS c
    ON c.run_id = t.run_id AND c.stratum = t.stratum AND c.target_index = t.class_index AND c.predicted_index = p.class_index
