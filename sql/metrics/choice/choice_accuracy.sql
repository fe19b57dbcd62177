/* ---
name: choice_accuracy
layer: metric
title: Accuracy of choices
metric: accuracy
inputs: [choice_totals]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
metric: accuracy
parameters: []
definition: Labelled questions whose first most probable option is the right one, divided by the labelled questions.
not: Not the accuracy of classified windows, which is another relation.
source: KEV metric parity, "Scope differences"
--- */
SELECT
    run_id,
    stratum,
    CASE WHEN n_counted > 0 THEN CAST(hits AS DOUBLE) / CAST(n_counted AS DOUBLE) END AS value,
    hits AS numerator,
    n_counted AS denominator,
    n AS n_items,
    n - n_counted AS n_excluded,
    n_labelled_failed AS n_failed,
    CASE WHEN n_counted > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_counted > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals
