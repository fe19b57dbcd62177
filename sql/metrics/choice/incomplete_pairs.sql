/* ---
name: incomplete_pairs
layer: metric
title: Incomplete pairs
inputs: [choice_pair_totals]
grain: [run_id, stratum]
unit: count
better: none
denominator: data
parameters: []
definition: Pair ids under which there are not two labelled clean rows.
source: KEV metric parity, "Scope differences"
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
WHERE kind = 'incomplete'
