/* ---
name: aurc
layer: metric
title: Area under the risk-coverage curve
inputs: [choice_score_groups, choice_strata, choice_totals]
grain: [run_id, stratum]
unit: proportion
better: lower
denominator: data
parameters: []
definition: >-
  Labelled answers are accepted in falling confidence, equal ones together. Sum over these groups of the rows added times
  the error rate of all accepted so far, divided by the labelled questions.
source: KEV metric parity, "Method"
reading: Failed questions are never accepted and stay in the denominator.
--- */
WITH
tied AS (
    SELECT
        t.run_id,
        t.stratum,
        g.confidence,
        CAST(sum(g.n) AS BIGINT) AS n,
        CAST(sum(g.errors) AS BIGINT) AS errors
    FROM choice_totals AS t
    JOIN choice_strata AS c ON c.run_id = t.run_id AND c.stratum = t.stratum
    JOIN choice_score_groups AS g ON g.run_id = c.run_id AND g.cell_index = c.cell_index
    GROUP BY t.run_id, t.stratum, g.confidence
),
accepted AS (
    SELECT
        run_id,
        stratum,
        n AS added,
        sum(n) OVER (
            PARTITION BY run_id, stratum ORDER BY confidence DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS n,
        sum(errors) OVER (
            PARTITION BY run_id, stratum ORDER BY confidence DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS errors
    FROM tied
),
areas AS (
    SELECT
        run_id,
        stratum,
        CAST(sum(CAST(
            CAST(added AS DOUBLE) * CAST(errors AS DOUBLE) / CAST(n AS DOUBLE) AS DECIMAL(38, 15)
        )) AS DECIMAL(38, 15)) AS area
    FROM accepted
    GROUP BY run_id, stratum
)
SELECT
    t.run_id,
    t.stratum,
    CASE WHEN t.n_answered > 0 THEN CAST(a.area AS DOUBLE) / CAST(t.n_counted AS DOUBLE) END AS value,
    CAST(a.area AS DOUBLE) AS numerator,
    t.n_counted AS denominator,
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
LEFT JOIN areas AS a ON a.run_id = t.run_id AND a.stratum = t.stratum
