/* ---
name: failure_roc_auc
layer: metric
title: Failure ROC-AUC
inputs: [failure_scores, failure_counts]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: Share of (failure, success) pairs in which the failure has the larger 1 - final success probability; a tie counts half.
not: Not of the failure call, which has no threshold to move. A trajectory on which the model failed has no score and is counted.
source: Robometer frozen evaluation, "IND failure detection"
--- */
WITH
placed AS (
    SELECT
        run_id, stratum, n_failures, n_successes,
        CAST(coalesce(sum(n_successes) OVER (
            PARTITION BY run_id, stratum ORDER BY failure_score NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS BIGINT) AS n_below
    FROM failure_scores
),
pairings AS (
    SELECT
        run_id, stratum,
        CAST(sum(n_failures) AS BIGINT) AS n_failures,
        CAST(sum(n_successes) AS BIGINT) AS n_successes,
        CAST(sum(n_failures * (2 * n_below + n_successes)) AS BIGINT) AS half_wins
    FROM placed
    GROUP BY run_id, stratum
),
joined AS (
    SELECT
        c.run_id,
        c.stratum,
        c.n_items,
        c.n_failed,
        coalesce(p.n_failures, 0) AS n_failures,
        coalesce(p.n_successes, 0) AS n_successes,
        coalesce(p.half_wins, 0) AS half_wins
    FROM failure_counts AS c
    LEFT JOIN pairings AS p ON p.run_id = c.run_id AND p.stratum = c.stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN n_failures > 0 AND n_successes > 0
         THEN CAST(half_wins AS DOUBLE) / CAST(2 * n_failures * n_successes AS DOUBLE) END AS value,
    CAST(half_wins AS DOUBLE) / CAST(2 AS DOUBLE) AS numerator,
    n_failures * n_successes AS denominator,
    n_items,
    n_items - n_failures - n_successes AS n_excluded,
    n_failed,
    CASE WHEN n_failures > 0 AND n_successes > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_failures + n_successes = 0 THEN 'no_items' WHEN n_failures * n_successes = 0 THEN 'one_class' END AS reason
FROM joined
