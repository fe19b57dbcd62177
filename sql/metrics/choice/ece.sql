/* ---
name: ece
layer: metric
title: Expected calibration error
inputs: [choice_bins_by_cluster, choice_totals]
grain: [run_id, stratum]
unit: proportion
better: lower
denominator: data
parameters: []
definition: >-
  Sum over the confidence bins of their share of the labelled, answered questions times |accuracy - mean confidence| in
  the bin. The shares cancel: it is the sum of |right answers - sum of confidences|, divided once.
source: KEV metric parity, "Method"
reading: Bins are of equal width and left-closed; other rules are `bin_rule`.
--- */
WITH
pooled AS (
    SELECT
        run_id,
        stratum,
        bin,
        CAST(sum(correct) AS DECIMAL(38, 15)) AS correct,
        CAST(sum(confidence_sum) AS DECIMAL(38, 15)) AS confidence_sum
    FROM choice_bins_by_cluster
    GROUP BY run_id, stratum, bin
),
gaps AS (
    SELECT run_id, stratum, CAST(sum(abs(correct - confidence_sum)) AS DECIMAL(38, 15)) AS gap
    FROM pooled
    GROUP BY run_id, stratum
)
SELECT
    t.run_id,
    t.stratum,
    CASE WHEN t.n_answered > 0 THEN CAST(g.gap AS DOUBLE) / CAST(t.n_answered AS DOUBLE) END AS value,
    CAST(g.gap AS DOUBLE) AS numerator,
    t.n_answered AS denominator,
    t.n AS n_items,
    t.n - t.n_answered AS n_excluded,
    t.n_labelled_failed AS n_failed,
    CASE WHEN t.n_answered > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN t.n_answered > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals AS t
LEFT JOIN gaps AS g ON g.run_id = t.run_id AND g.stratum = t.stratum
