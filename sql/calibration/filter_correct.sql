/* ---
name: filter_correct
layer: calibration
title: Top-k correctness per score
inputs: [filter_cuts, progress_errors]
grain: [run_id, stratum, score]
parameters: [top_k]
definition: >-
  Per score, correct items among the top k of every query task over k times the number of query tasks: the plain mean of
  the tasks' shares. Undefined (too_few_points) where a pool is smaller than k.
--- */
WITH
strata AS (
    SELECT run_id, stratum FROM progress_errors
    UNION
    SELECT run_id, stratum FROM filter_cuts
),
scores AS (
    SELECT 'pearson' AS score UNION ALL SELECT 'final' UNION ALL SELECT 'delta'
    UNION ALL SELECT 'slope' UNION ALL SELECT 'late_mean_delta'
),
trajectories AS (
    SELECT run_id, n_items AS n_trajectories FROM progress_errors WHERE stratum = 'all'
),
sums AS (
    SELECT
        run_id, stratum, score,
        count(*) AS n_tasks,
        CAST(sum(n_pool) AS BIGINT) AS n_candidates,
        CAST(sum(n_failed) AS BIGINT) AS n_failed,
        min(n_pool) AS smallest_pool,
        CAST(sum(CAST(correct AS DECIMAL(38, 15))) AS DOUBLE) AS correct
    FROM filter_cuts
    GROUP BY run_id, stratum, score
),
joined AS (
    SELECT
        strata.run_id,
        strata.stratum,
        scores.score,
        coalesce(sums.n_tasks, 0) AS n_tasks,
        coalesce(sums.n_candidates, 0) AS n_candidates,
        coalesce(sums.n_failed, 0) AS n_failed,
        coalesce(sums.n_tasks, 0) * trajectories.n_trajectories AS n_items,
        CAST((SELECT value FROM protocol_parameters WHERE name = 'top_k') AS BIGINT) AS k,
        sums.smallest_pool,
        sums.correct
    FROM strata
    CROSS JOIN scores
    JOIN trajectories ON trajectories.run_id = strata.run_id
    LEFT JOIN sums
        ON sums.run_id = strata.run_id AND sums.stratum = strata.stratum AND sums.score = scores.score
)
SELECT
    run_id,
    stratum,
    score,
    CASE WHEN smallest_pool >= k THEN correct / CAST(k * n_tasks AS DOUBLE) END AS value,
    correct AS numerator,
    CAST(k * n_tasks AS BIGINT) AS denominator,
    CAST(n_items AS BIGINT) AS n_items,
    CAST(n_items - n_candidates AS BIGINT) AS n_excluded,
    n_failed,
    CASE WHEN smallest_pool >= k THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_tasks = 0 THEN 'no_items' WHEN smallest_pool < k THEN 'too_few_points' END AS reason
FROM joined
