/* ---
name: rescored_against_frozen
layer: audit
title: Rescored values that are not the frozen ones
inputs: [macro_f1, accuracy, balanced_accuracy, worst_class_f1, frozen_results]
grain: [run_id, metric]
parameters: [frozen_tolerance]
definition: Every frozen value that the saved predictions of its run do not give within the tolerance, or for which the metric is undefined on them. Runs and metrics that are not recorded are not compared.
not: Not a check of the model. It says that predictions and record belong together.
source: WISP, "Evaluation and result authority"
--- */
WITH
rescored AS (
    SELECT run_id, 'macro_f1' AS metric, value FROM macro_f1 WHERE stratum = 'all'
    UNION ALL
    SELECT run_id, 'accuracy' AS metric, value FROM accuracy WHERE stratum = 'all'
    UNION ALL
    SELECT run_id, 'balanced_accuracy' AS metric, value FROM balanced_accuracy WHERE stratum = 'all'
    UNION ALL
    SELECT run_id, 'worst_class_f1' AS metric, value FROM worst_class_f1 WHERE stratum = 'all'
),
compared AS (
    SELECT
        f.run_id,
        f.metric,
        r.value AS observed,
        f.value AS expected,
        r.value - f.value AS difference
    FROM frozen_results AS f
    JOIN rescored AS r ON r.run_id = f.run_id AND r.metric = f.metric
    WHERE f.origin = 'frozen_catalogue' AND f.value IS NOT NULL
)
SELECT
    run_id,
    metric,
    observed,
    expected,
    difference
FROM compared
WHERE observed IS NULL
    OR abs(difference) > CAST((SELECT value FROM protocol_parameters WHERE name = 'frozen_tolerance') AS DOUBLE)
