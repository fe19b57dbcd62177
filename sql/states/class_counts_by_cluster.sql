/* ---
name: class_counts_by_cluster
layer: state
title: Counts per class and cluster
inputs: [class_confusion_by_cluster]
grain: [run_id, stratum, cluster_id, class_index]
merge: {items: sum, failed: sum, hits: sum, predicted: sum}
parameters: []
definition: Per class and cluster, the windows of that true class (items), those of them on which the model failed, those that were recognised (hits), and the windows of any class that were given it (predicted).
not: Holds no cell of the confusion matrix off its diagonal; three counts a class are all that the four metrics need, and K times fewer rows to resample.
--- */
-- Each cell tells its true class about its windows and its predicted class about its predictions.
WITH
sides AS (
    SELECT TRUE AS of_truth
    UNION ALL
    SELECT FALSE AS of_truth
),
told AS (
    SELECT
        c.run_id, c.stratum, c.cluster_id,
        CASE WHEN s.of_truth THEN c.target_index ELSE c.predicted_index END AS class_index,
        CASE WHEN s.of_truth THEN c.n ELSE 0 END AS items,
        CASE WHEN s.of_truth AND c.predicted_index IS NULL THEN c.n ELSE 0 END AS failed,
        CASE WHEN s.of_truth AND c.predicted_index = c.target_index THEN c.n ELSE 0 END AS hits,
        CASE WHEN s.of_truth THEN 0 ELSE c.n END AS predicted
    FROM class_confusion_by_cluster AS c
    CROSS JOIN sides AS s
    WHERE s.of_truth OR c.predicted_index IS NOT NULL
)
SELECT
    run_id,
    stratum,
    cluster_id,
    class_index,
    CAST(sum(items) AS BIGINT) AS items,
    CAST(sum(failed) AS BIGINT) AS failed,
    CAST(sum(hits) AS BIGINT) AS hits,
    CAST(sum(predicted) AS BIGINT) AS predicted
FROM told
GROUP BY run_id, stratum, cluster_id, class_index
