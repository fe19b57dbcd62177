/* ---
name: selective_accuracy_0.5
layer: metric
title: Selective accuracy at 0.5
inputs: [choice_selections, choice_totals]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: model
parameters: []
definition: Right answers among the labelled questions whose confidence reaches that of the max(1, ceil(0.5 n))-th most confident one.
source: KEV metric parity, "Method"
--- */
SELECT
    t.run_id,
    t.stratum,
    CASE WHEN t.n_answered > 0 THEN CAST(s.accepted - s.errors AS DOUBLE) / CAST(s.accepted AS DOUBLE) END AS value,
    coalesce(s.accepted - s.errors, 0) AS numerator,
    coalesce(s.accepted, 0) AS denominator,
    t.n AS n_items,
    t.n - t.n_counted AS n_excluded,
    t.n_labelled_failed AS n_failed,
    CASE WHEN t.n_answered > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN t.n_answered > 0 THEN NULL
        WHEN t.n_counted > 0 THEN 'no_rows_above_cutoff'
        ELSE 'no_items'
    END AS reason
FROM choice_totals AS t
LEFT JOIN choice_selections AS s ON s.run_id = t.run_id AND s.stratum = t.stratum AND s.fraction = '0.5'
