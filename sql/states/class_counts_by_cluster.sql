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
WITH
-- Each cell tells its true class about its windows and its predicted class about its predictions.
told AS (
    SELECT
        run_id, stratum, cluster_id, target_index AS class_index,
        n AS items,
        CASE WHEN predicted_index IS NULL THEN n ELSE 0 END AS failed,
        CASE WHEN predicted_index = target_index THEN n ELSE 0 END AS hits,
        0 AS predicted
    FROM class_confusion_by_cluster
    UNION ALL
    SELECT
        run_id, stratum, cluster_id, predicted_index AS class_index,
        0 AS items,
        0 AS failed,
        0 AS hits,
        n AS predicted
    FROM class_confusion_by_cluster
    WHERE predicted_index IS NOT NULL
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
