/* ---
name: filter_ranks
layer: fact
title: Filtering ranks
inputs: [progress_features]
grain: [run_id, step, query_task, score, trajectory_index]
split: {progress_features: query_task}
parameters: [failed, late_mean_delta, score_range, top_k]
definition: >-
  Per query task and score, every candidate that was asked about the task, best first. Scores are made of all points but
  the final one and compared as integer multiples of 1e-12. A candidate without a score is in one last tied group. A
  hit is a successful trajectory recorded for the query task.
source: Robometer frozen evaluation, "Filtering"
reading: >-
  late_mean_delta is half of (mean of the later half, rounded up, + last - first).
  `score_range: unit` maps Pearson and delta from [-1, 1] to [0, 1] and has no slope and no late_mean_delta. With
  `failed: wrong` a candidate on which the model failed has no score; with `excluded` it is not in the pool.
--- */
WITH
candidates AS (
    SELECT
        run_id, step, query_task, trajectory_index, trajectory_id, task,
        filter_pearson, filter_final, filter_delta, filter_slope, filter_late_mean,
        task = query_task AND outcome = 'success' AS is_hit,
        n_failed > 0 AS failed
    FROM progress_features
    WHERE n_points > 0
      AND (n_failed = 0 OR (SELECT value FROM protocol_parameters WHERE name = 'failed') <> 'excluded')
),
raw_scores AS (
    SELECT run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed,
           'pearson' AS score, filter_pearson AS score_value, 1 AS spread FROM candidates
    UNION ALL
    SELECT run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed,
           'final' AS score, filter_final AS score_value, 0 AS spread FROM candidates
    UNION ALL
    SELECT run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed,
           'delta' AS score, filter_delta AS score_value, 1 AS spread FROM candidates
    UNION ALL
    SELECT run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed,
           'slope' AS score, filter_slope AS score_value, NULL AS spread FROM candidates
    UNION ALL
    SELECT run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed,
           'late_mean_delta' AS score,
           CASE (SELECT value FROM protocol_parameters WHERE name = 'late_mean_delta')
               WHEN 'half_of_late_mean_plus_delta' THEN (filter_late_mean + filter_delta) / CAST(2 AS DOUBLE)
           END AS score_value, NULL AS spread FROM candidates
),
-- A score of spread s has the fixed range [-s, 1]; one without has no fixed range.
mapped AS (
    SELECT
        run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed, score,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'score_range') = 'unit'
             THEN (score_value + spread) / CAST(1 + spread AS DOUBLE)
             ELSE score_value END AS score_value
    FROM raw_scores
    WHERE spread IS NOT NULL OR (SELECT value FROM protocol_parameters WHERE name = 'score_range') <> 'unit'
),
units AS (
    SELECT
        run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed, score, score_value,
        CAST(round_even(score_value * 1e12, 0) AS BIGINT) AS score_units
    FROM mapped
),
ranked AS (
    SELECT
        run_id, step, query_task, trajectory_index, trajectory_id, task, is_hit, failed, score, score_value, score_units,
        rank() OVER (PARTITION BY run_id, step, query_task, score ORDER BY score_units DESC NULLS LAST) - 1 AS n_above,
        count(*) OVER (PARTITION BY run_id, step, query_task, score, score_units) AS n_tied,
        count(*) OVER (PARTITION BY run_id, step, query_task, score) AS n_pool
    FROM units
)
SELECT
    run_id,
    step,
    query_task,
    score,
    trajectory_index,
    trajectory_id,
    task,
    is_hit,
    failed,
    score_value,
    score_units,
    n_above,
    n_tied,
    n_pool,
    least(1.0, greatest(0.0,
        CAST(CAST((SELECT value FROM protocol_parameters WHERE name = 'top_k') AS BIGINT) - n_above AS DOUBLE)
        / CAST(n_tied AS DOUBLE))) AS share_above_cut
FROM ranked
