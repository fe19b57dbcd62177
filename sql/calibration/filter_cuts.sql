/* ---
name: filter_cuts
layer: calibration
title: Where the top k ends
inputs: [filter_hits_by_trajectory]
grain: [run_id, stratum, query_task, score]
split: {progress_features: query_task, filter_ranks: query_task}
parameters: [top_k]
definition: >-
  Per query task and score, the hits among the top k candidates. The tied group that the cut falls into gets the places
  that are left, shared in proportion: its hits count by that share.
source: Robometer frozen evaluation, "Filtering emitted by the frozen evaluator"
--- */
WITH
tied_groups AS (
    SELECT
        run_id, stratum, query_task, score, has_score, score_units,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_hits) AS BIGINT) AS n_hits,
        CAST(sum(n_failed) AS BIGINT) AS n_failed
    FROM filter_hits_by_trajectory
    GROUP BY run_id, stratum, query_task, score, has_score, score_units
),
placed AS (
    SELECT
        run_id, stratum, query_task, score, n, n_hits, n_failed,
        CAST(coalesce(sum(n) OVER (
            PARTITION BY run_id, stratum, query_task, score
            ORDER BY has_score DESC NULLS LAST, score_units DESC NULLS LAST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS BIGINT) AS n_above
    FROM tied_groups
),
taken AS (
    SELECT
        run_id, stratum, query_task, score, n, n_hits, n_failed,
        least(n, greatest(0, CAST((SELECT value FROM protocol_parameters WHERE name = 'top_k') AS BIGINT) - n_above))
            AS places
    FROM placed
),
cuts AS (
    SELECT
        run_id, stratum, query_task, score,
        CAST(sum(n) AS BIGINT) AS n_pool,
        CAST(sum(n_failed) AS BIGINT) AS n_failed,
        CAST(sum(CASE WHEN places = n THEN n_hits ELSE 0 END) AS BIGINT) AS n_hits_above,
        CAST(max(CASE WHEN places > 0 AND places < n THEN places ELSE 0 END) AS BIGINT) AS free_places,
        CAST(max(CASE WHEN places > 0 AND places < n THEN n ELSE 0 END) AS BIGINT) AS n_tied,
        CAST(max(CASE WHEN places > 0 AND places < n THEN n_hits ELSE 0 END) AS BIGINT) AS n_tied_hits
    FROM taken
    GROUP BY run_id, stratum, query_task, score
)
SELECT
    run_id,
    stratum,
    query_task,
    score,
    n_pool,
    n_failed,
    n_hits_above,
    free_places,
    n_tied,
    n_tied_hits,
    CAST(n_hits_above AS DOUBLE)
        + CASE WHEN n_tied = 0 THEN CAST(0 AS DOUBLE)
               ELSE CAST(free_places * n_tied_hits AS DOUBLE) / CAST(n_tied AS DOUBLE) END AS correct
FROM cuts
