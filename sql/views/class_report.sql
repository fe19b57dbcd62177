/* ---
name: class_report
layer: view
title: Per-class report
inputs: [class_scores, class_vocabulary]
grain: [run_id, stratum, class_index]
parameters: []
definition: Every class of the vocabulary by name, with support, predicted, precision, recall and F1.
--- */
SELECT
    s.run_id,
    s.stratum,
    s.class_index,
    v.class,
    s.support,
    s.predicted,
    s.hits,
    s.failed,
    s.precision,
    s.recall,
    s.f1
FROM class_scores AS s
JOIN class_vocabulary AS v ON v.run_id = s.run_id AND v.class_index = s.class_index
