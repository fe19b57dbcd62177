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
-- Numbered, because rows are grouped and ranked by one number sooner than by texts.
opened AS (
    SELECT
        run_id, stratum, budget, allowed, per, bucket, n_above, errors_above,
        row_number() OVER (ORDER BY run_id NULLS LAST, stratum NULLS LAST, budget NULLS LAST, bucket NULLS LAST) AS slot
    FROM choice_budget_buckets
    WHERE kind = 'open'
),
placed AS (
    SELECT o.slot, o.run_id, t.cell_index, o.bucket
    FROM opened AS o
    JOIN choice_strata AS t ON t.run_id = o.run_id AND t.stratum = o.stratum
),
points AS (
    SELECT
        w.slot,
        g.confidence,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'ties') = 'prefix' THEN g.item_index ELSE 0 END
            AS place,
        CAST(sum(g.n) AS BIGINT) AS n,
        CAST(sum(g.errors) AS BIGINT) AS errors
    FROM placed AS w
    JOIN choice_score_groups AS g ON g.run_id = w.run_id AND g.cell_index = w.cell_index AND g.bucket = w.bucket
    GROUP BY
        w.slot,
        g.confidence,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'ties') = 'prefix' THEN g.item_index ELSE 0 END
),
stacked AS (
    SELECT
        slot,
        sum(n) OVER (
            PARTITION BY slot ORDER BY confidence DESC NULLS LAST, place NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS n,
        sum(errors) OVER (
            PARTITION BY slot ORDER BY confidence DESC NULLS LAST, place NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS errors
    FROM points
),
reached AS (
    SELECT
        o.run_id, o.stratum, o.budget, o.allowed, o.per, o.n_above + s.n AS accepted, o.errors_above + s.errors AS errors
    FROM stacked AS s
    JOIN opened AS o ON o.slot = s.slot
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
