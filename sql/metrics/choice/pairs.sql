/* ---
name: pairs
layer: metric
title: Relevant pairs
inputs: [choice_pair_totals]
grain: [run_id, stratum]
unit: count
better: none
denominator: data
parameters: []
definition: Contrastive pairs of clean rows whose right options differ.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CAST(n AS DOUBLE) AS value,
    n AS numerator,
    CAST(NULL AS BIGINT) AS denominator,
    n AS n_items,
    CAST(0 AS BIGINT) AS n_excluded,
    n_failed AS n_failed,
    'ok' AS status,
    CAST(NULL AS VARCHAR) AS reason
FROM choice_pair_totals
WHERE kind = 'relevant'
