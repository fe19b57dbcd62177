/* ---
name: choice_budget_buckets
layer: calibration
title: Buckets of confidence in which an error budget may end
inputs: [choice_score_histogram]
grain: [run_id, stratum, budget, bucket]
parameters: []
definition: >-
  Labelled answers are accepted in falling confidence, bucket by bucket, while errors x per <= allowed x accepted. sure:
  the last bucket whose end is within the budget. open: a later bucket in which some point may be, because it would be
  if all right answers of the bucket came first. n_above, errors_above: accepted before the bucket; n_to_end: with it.
not: Only the open buckets need be ranked row by row; in no other one can the last point within the budget lie.
--- */
WITH
budgets AS (
    SELECT '0.01' AS budget, 1 AS allowed, 100 AS per
    UNION ALL
    SELECT '0.05' AS budget, 1 AS allowed, 20 AS per
),
stacked AS (
    SELECT
        run_id, stratum, bucket, n, errors,
        CAST(sum(n) OVER (
            PARTITION BY run_id, stratum ORDER BY bucket DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS n_to_end,
        CAST(sum(errors) OVER (
            PARTITION BY run_id, stratum ORDER BY bucket DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS BIGINT) AS errors_to_end
    FROM choice_score_histogram
),
judged AS (
    SELECT
        s.run_id, s.stratum, b.budget, b.allowed, b.per, s.bucket,
        s.n_to_end - s.n AS n_above,
        s.errors_to_end - s.errors AS errors_above,
        s.n_to_end,
        s.errors_to_end * b.per <= b.allowed * s.n_to_end AS end_within,
        (s.errors_to_end - s.errors) * b.per <= b.allowed * (s.n_to_end - s.errors) AS may_hold_one,
        min(CASE WHEN s.errors_to_end * b.per <= b.allowed * s.n_to_end THEN s.bucket END) OVER (
            PARTITION BY s.run_id, s.stratum, b.budget
        ) AS last_sure
    FROM stacked AS s
    CROSS JOIN budgets AS b
)
SELECT
    run_id,
    stratum,
    budget,
    bucket,
    allowed,
    per,
    n_above,
    errors_above,
    n_to_end,
    CASE WHEN bucket = last_sure THEN 'sure' ELSE 'open' END AS kind
FROM judged
WHERE bucket = last_sure OR (may_hold_one AND NOT end_within AND bucket < coalesce(last_sure, bucket + 1))
