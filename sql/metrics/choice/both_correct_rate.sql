/* ---
name: both_correct_rate
layer: metric
title: Relevant pairs with both right
inputs: [choice_pair_totals]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Relevant pairs with both sides answered rightly.
source: KEV metric parity, "Method"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_counted > 0 THEN CAST(both_correct AS DOUBLE) / CAST(n_counted AS DOUBLE) END AS value,
    both_correct AS numerator,
    n_counted AS denominator,
    n AS n_items,
    n - n_counted AS n_excluded,
    n_failed AS n_failed,
    CASE WHEN n_counted > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_counted > 0 THEN NULL ELSE 'no_pairs' END AS reason
FROM choice_pair_totals
WHERE kind = 'relevant'
