/* ---
name: accuracy
layer: metric
title: Accuracy
inputs: [class_scores]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Correctly classified windows divided by all windows that count.
source: WISP, "Evaluation and result authority"
--- */
WITH
totals AS (
    SELECT
        run_id, stratum,
        CAST(sum(hits) AS BIGINT) AS hits,
        CAST(sum(support) AS BIGINT) AS support,
        CAST(sum(items) AS BIGINT) AS items,
        CAST(sum(failed) AS BIGINT) AS failed
    FROM class_scores
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN support > 0 THEN CAST(hits AS DOUBLE) / CAST(support AS DOUBLE) END AS value,
    hits AS numerator,
    support AS denominator,
    items AS n_items,
    items - support AS n_excluded,
    failed AS n_failed,
    CASE WHEN support > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN support > 0 THEN NULL ELSE 'no_items' END AS reason
FROM totals
