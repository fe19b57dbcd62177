/* ---
name: class_outcomes
layer: fact
title: One window and what became of it
inputs: [class_labels, class_predictions]
grain: [run_id, item_index]
split: {class_labels: item_index, class_predictions: item_index}
parameters: []
definition: Every labelled window with its true and its predicted class. A window without a prediction is one on which the model failed; it stays, with no predicted class.
not: Not filtered. Whether failed windows count as misses or are left out is decided where counts become scores.
source: WISP, "Evaluation and result authority"
--- */
SELECT
    l.run_id,
    'all' AS stratum,
    l.participant AS cluster_id,
    l.item_index,
    l.class_index AS target_index,
    p.class_index AS predicted_index
FROM class_labels AS l
-- From the labels' side: a window that the predictions pass over is a failure, not a smaller evaluation set.
LEFT JOIN class_predictions AS p ON p.run_id = l.run_id AND p.item_index = l.item_index
