/* ---
name: choice_error_budgets
layer: calibration
title: How much can be accepted within an error budget
inputs: [choice_budget_buckets, choice_score_groups, choice_strata]
grain: [run_id, stratum, budget]
parameters: [ties]
definition: >-
  Labelled answers are accepted in falling confidence. accepted: how many there are at the last point where
  errors <= budget x accepted, in integers. ties = groups: equal confidences are accepted together. ties = prefix: one
  row at a time, equal confidences in the order of the rows.
not: Absent where no point is within the budget.
source: KEV metric parity, "Method"
--- */
WITH
points AS (
    SELECT
        b.run_id, b.stratum, b.budget, b.allowed, b.per, b.bucket, b.n_above, b.errors_above,
        g.confidence,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'ties') = 'prefix' THEN g.item_index ELSE 0 END
            AS place,
        CAST(sum(g.n) AS BIGINT) AS n,
        CAST(sum(g.errors) AS BIGINT) AS errors
    FROM choice_budget_buckets AS b
    JOIN choice_strata AS t ON t.run_id = b.run_id AND t.stratum = b.stratum
    JOIN choice_score_groups AS g ON g.run_id = t.run_id AND g.cell_index = t.cell_index AND g.bucket = b.bucket
    WHERE b.kind = 'open'
    GROUP BY
        b.run_id, b.stratum, b.budget, b.allowed, b.per, b.bucket, b.n_above, b.errors_above, g.confidence,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'ties') = 'prefix' THEN g.item_index ELSE 0 END
),
reached AS (
    SELECT
        run_id, stratum, budget, allowed, per,
        n_above + sum(n) OVER (
            PARTITION BY run_id, stratum, budget, bucket
            ORDER BY confidence DESC NULLS LAST, place NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS accepted,
        errors_above + sum(errors) OVER (
            PARTITION BY run_id, stratum, budget, bucket
            ORDER BY confidence DESC NULLS LAST, place NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS errors
    FROM points
),
within AS (
    SELECT run_id, stratum, budget, n_to_end AS accepted FROM choice_budget_buckets WHERE kind = 'sure'
    UNION ALL
    SELECT run_id, stratum, budget, accepted FROM reached WHERE errors * per <= allowed * accepted
)
SELECT
    run_id,
    stratum,
    budget,
    CAST(max(accepted) AS BIGINT) AS accepted
FROM within
GROUP BY run_id, stratum, budget
