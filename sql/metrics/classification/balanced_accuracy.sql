/* ---
name: balanced_accuracy
layer: metric
title: Balanced accuracy
inputs: [class_scores]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Mean recall over the classes present in the ground truth. The denominator is the number of those classes.
not: Not averaged over classes that were only predicted.
source: WISP, "Evaluation and result authority"
--- */
WITH
totals AS (
    SELECT
        run_id, stratum,
        -- An exact sum: the same bits whatever the order of the rows. A term is rounded by at most 5e-16.
        CAST(sum(CAST(recall AS DECIMAL(38, 15))) AS DOUBLE) AS recall,
        sum(CASE WHEN support > 0 THEN 1 ELSE 0 END) AS present,
        CAST(sum(support) AS BIGINT) AS support,
        CAST(sum(items) AS BIGINT) AS items,
        CAST(sum(failed) AS BIGINT) AS failed
    FROM class_scores
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN support > 0 THEN recall / CAST(present AS DOUBLE) END AS value,
    recall AS numerator,
    CAST(present AS BIGINT) AS denominator,
    items AS n_items,
    items - support AS n_excluded,
    failed AS n_failed,
    CASE WHEN support > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN support > 0 THEN NULL ELSE 'no_items' END AS reason
FROM totals
