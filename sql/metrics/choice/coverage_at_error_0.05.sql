/* ---
name: coverage_at_error_0.05
layer: metric
title: Coverage at 0.05 error
inputs: [choice_error_budgets, choice_totals]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Largest share of the labelled questions that can be accepted in falling confidence while at most 0.05 of the accepted are wrong; 0 where no such share exists.
not: In-sample; not an error rate that a deployed threshold would keep.
source: KEV metric parity, "Method"
--- */
SELECT
    t.run_id,
    t.stratum,
    CASE WHEN t.n_counted > 0 THEN CAST(coalesce(b.accepted, 0) AS DOUBLE) / CAST(t.n_counted AS DOUBLE) END AS value,
    coalesce(b.accepted, 0) AS numerator,
    t.n_counted AS denominator,
    t.n AS n_items,
    t.n - t.n_counted AS n_excluded,
    t.n_labelled_failed AS n_failed,
    CASE WHEN t.n_counted > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN t.n_counted > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals AS t
LEFT JOIN choice_error_budgets AS b ON b.run_id = t.run_id AND b.stratum = t.stratum AND b.budget = '0.05'
