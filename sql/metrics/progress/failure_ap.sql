/* ---
name: failure_ap
layer: metric
title: Failure average precision
inputs: [failure_scores, failure_counts]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: >-
  Precision at each distinct 1 - final success probability, from the largest down, weighted by the share of failures
  gained there. Equal scores are one step.
not: Not interpolated. A trajectory on which the model failed has no score and is counted.
source: Robometer frozen evaluation, "IND failure detection"
--- */
WITH
accepted AS (
    SELECT
        run_id, stratum, n_failures, n_failures + n_successes AS n,
        CAST(sum(n_failures) OVER (
            PARTITION BY run_id, stratum ORDER BY failure_score DESC NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS BIGINT) AS failures_accepted,
        CAST(sum(n_failures + n_successes) OVER (
            PARTITION BY run_id, stratum ORDER BY failure_score DESC NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS BIGINT) AS n_accepted
    FROM failure_scores
),
steps AS (
    SELECT
        run_id, stratum, n_failures, n,
        CASE WHEN n_failures = 0 THEN CAST(0 AS DOUBLE)
             ELSE CAST(n_failures * failures_accepted AS DOUBLE) / CAST(n_accepted AS DOUBLE) END AS area
    FROM accepted
),
areas AS (
    SELECT
        run_id, stratum,
        CAST(sum(n_failures) AS BIGINT) AS n_failures,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(CAST(area AS DECIMAL(38, 15))) AS DOUBLE) AS area
    FROM steps
    GROUP BY run_id, stratum
),
joined AS (
    SELECT
        c.run_id,
        c.stratum,
        c.n_items,
        c.n_failed,
        coalesce(a.n_failures, 0) AS n_failures,
        coalesce(a.n, 0) AS n,
        coalesce(a.area, CAST(0 AS DOUBLE)) AS area
    FROM failure_counts AS c
    LEFT JOIN areas AS a ON a.run_id = c.run_id AND a.stratum = c.stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN n_failures > 0 THEN area / CAST(n_failures AS DOUBLE) END AS value,
    area AS numerator,
    n_failures AS denominator,
    n_items,
    n_items - n AS n_excluded,
    n_failed,
    CASE WHEN n_failures > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n = 0 THEN 'no_items' WHEN n_failures = 0 THEN 'no_positives' END AS reason
FROM joined
