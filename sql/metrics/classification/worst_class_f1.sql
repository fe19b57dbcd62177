/* ---
name: worst_class_f1
layer: metric
title: Worst-class F1
inputs: [class_scores]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Smallest F1 over the complete global vocabulary; a class absent from labels and predictions scores zero.
not: Not taken over observed classes. macro_f1 is, so the two need not share a class subset.
source: WISP, "Evaluation and result authority"
--- */
WITH
totals AS (
    SELECT
        run_id, stratum,
        min(f1) AS f1,
        CAST(sum(support) AS BIGINT) AS support,
        CAST(sum(items) AS BIGINT) AS items,
        CAST(sum(failed) AS BIGINT) AS failed
    FROM class_scores
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN support > 0 THEN f1 END AS value,
    CAST(NULL AS BIGINT) AS numerator,
    CAST(NULL AS BIGINT) AS denominator,
    items AS n_items,
    items - support AS n_excluded,
    failed AS n_failed,
    CASE WHEN support > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN support > 0 THEN NULL ELSE 'no_items' END AS reason
FROM totals
