/* ---
name: macro_f1
layer: metric
title: Macro-F1
inputs: [class_scores]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: model
parameters: []
definition: Average F1 over the classes observed in the ground truth or in the predictions; a class absent from both is not averaged. The denominator is the number of classes averaged.
not: Not an average over the vocabulary; worst_class_f1 looks at all of it, so the two need not share a class subset.
source: WISP, "Evaluation and result authority"
--- */
WITH
totals AS (
    SELECT
        run_id, stratum,
        -- An exact sum: the same bits whatever the order of the rows. A term is rounded by at most 5e-16.
        CAST(sum(CASE WHEN support + predicted > 0 THEN CAST(f1 AS DECIMAL(38, 15)) END) AS DOUBLE) AS f1,
        sum(CASE WHEN support + predicted > 0 THEN 1 ELSE 0 END) AS observed,
        CAST(sum(support) AS BIGINT) AS support,
        CAST(sum(items) AS BIGINT) AS items,
        CAST(sum(failed) AS BIGINT) AS failed
    FROM class_scores
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN support > 0 THEN f1 / CAST(observed AS DOUBLE) END AS value,
    f1 AS numerator,
    CAST(observed AS BIGINT) AS denominator,
    items AS n_items,
    items - support AS n_excluded,
    failed AS n_failed,
    CASE WHEN support > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN support > 0 THEN NULL ELSE 'no_items' END AS reason
FROM totals
