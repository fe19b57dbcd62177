/* ---
name: answer_accuracy
layer: metric
title: Accuracy of marked answers
metric: accuracy
inputs: [answer_sums]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: [failed]
definition: >-
  Attempts marked right, divided by those that were marked; failed attempts count as marked wrong unless failed = excluded.
not: Not the mean of a score that knows partial credit, and not a vote over the attempts at an item.
--- */
WITH
pooled AS (
    SELECT
        run_id,
        stratum,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_failed) AS BIGINT) AS n_failed,
        CAST(sum(n_labelled) AS BIGINT) AS n_labelled,
        CAST(sum(hits) AS BIGINT) AS hits
    FROM answer_sums
    GROUP BY run_id, stratum
),
counted AS (
    SELECT
        run_id,
        stratum,
        n,
        n_failed,
        hits,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'excluded'
            THEN n_labelled - n_failed ELSE n_labelled END AS n_counted
    FROM pooled
)
SELECT
    run_id,
    stratum,
    CASE WHEN n_counted > 0 THEN CAST(hits AS DOUBLE) / CAST(n_counted AS DOUBLE) END AS value,
    hits AS numerator,
    n_counted AS denominator,
    n AS n_items,
    n - n_counted AS n_excluded,
    n_failed,
    CASE WHEN n_counted > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_counted > 0 THEN NULL ELSE 'no_items' END AS reason
FROM counted
