/* ---
name: choice_error_budgets
layer: calibration
title: How much can be accepted within an error budget
inputs: [choice_score_groups, choice_score_histogram]
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
budgets AS (
    SELECT '0.01' AS budget, 1 AS allowed, 100 AS per
    UNION ALL
    SELECT '0.05' AS budget, 1 AS allowed, 20 AS per
),
buckets AS (
    SELECT run_id, stratum, bucket, CAST(sum(n) AS BIGINT) AS n, CAST(sum(errors) AS BIGINT) AS errors
    FROM choice_score_histogram
    GROUP BY run_id, stratum, bucket
),
stacked AS (
    SELECT
        run_id, stratum, bucket, n, errors,
        sum(n) OVER (
            PARTITION BY run_id, stratum ORDER BY bucket DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS n_to_end,
        sum(errors) OVER (
            PARTITION BY run_id, stratum ORDER BY bucket DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS errors_to_end
    FROM buckets
),
-- The end of a bucket is a point of the curve under either rule.
sure AS (
    SELECT s.run_id, s.stratum, b.budget, min(s.bucket) AS bucket, max(s.n_to_end) AS accepted
    FROM stacked AS s
    CROSS JOIN budgets AS b
    WHERE s.errors_to_end * b.per <= b.allowed * s.n_to_end
    GROUP BY s.run_id, s.stratum, b.budget
),
-- Beyond it, a point inside a bucket can be within the budget only if it were with all the bucket's right answers first.
open_buckets AS (
    SELECT
        s.run_id, s.stratum, b.budget, b.allowed, b.per, s.bucket,
        s.n_to_end - s.n AS n_above,
        s.errors_to_end - s.errors AS errors_above
    FROM stacked AS s
    CROSS JOIN budgets AS b
    LEFT JOIN sure AS y ON y.run_id = s.run_id AND y.stratum = s.stratum AND y.budget = b.budget
    WHERE
        s.bucket < coalesce(y.bucket, 32767)
        AND (s.errors_to_end - s.errors) * b.per <= b.allowed * (s.n_to_end - s.errors)
),
points AS (
    SELECT
        o.run_id, o.stratum, o.budget, o.allowed, o.per, o.bucket, o.n_above, o.errors_above,
        g.confidence,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'ties') = 'prefix' THEN g.item_index ELSE 0 END
            AS place,
        CAST(sum(g.n) AS BIGINT) AS n,
        CAST(sum(g.errors) AS BIGINT) AS errors
    FROM open_buckets AS o
    JOIN choice_score_groups AS g ON g.run_id = o.run_id AND g.stratum = o.stratum AND g.bucket = o.bucket
    GROUP BY
        o.run_id, o.stratum, o.budget, o.allowed, o.per, o.bucket, o.n_above, o.errors_above, g.confidence,
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
    SELECT run_id, stratum, budget, accepted FROM sure
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
