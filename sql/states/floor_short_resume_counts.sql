/* ---
name: floor_short_resume_counts
layer: state
title: Triggers before a short restart, per cluster
inputs: [floor_event_counts, floor_events, operating_levels, operating_points]
grain: [run_id, population, stratum, cluster_id, fold, horizon_s, recall]
merge:
  n_candidates: sum
  n_excluded: sum
  n_censored: sum
  n_short_resume: sum
  n_short_resume_triggered: sum
  calibration_positives: min
poolable: true
parameters: [midturn_pause_max_seconds, row_seconds]
definition: >-
  Scored no-response events after which the others start again within midturn_pause_max_seconds of falling silent,
  whatever the horizon, and those of them that trigger.
--- */
WITH
-- Read as one cluster, several clusters have rows of the same cell.
cells AS (
    SELECT
        run_id, population, stratum, cluster_id, fold, horizon_steps, horizon_s,
        CAST(sum(n_candidates) AS BIGINT) AS n_candidates,
        CAST(sum(n_censored + n_invalid + n_empty_window) AS BIGINT) AS n_excluded,
        CAST(sum(n_censored) AS BIGINT) AS n_censored
    FROM floor_event_counts
    WHERE kind = 'response'
    GROUP BY run_id, population, stratum, cluster_id, fold, horizon_steps, horizon_s
),
resumed AS (
    SELECT run_id, fold, cluster_id, horizon_steps, stratum, truncated, score
    FROM floor_events
    WHERE
        role = 'evaluation' AND kind = 'response' AND state = 'scored' AND NOT outcome
        -- Whole microseconds: 10 rows of 0.2 s are a pause of 2.0 s exactly, not one of 2.0000000000000004 s.
        AND (competing_row - boundary_row) * CAST(
            CAST((SELECT value FROM protocol_parameters WHERE name = 'row_seconds') AS DECIMAL(18, 6))
            * 1000000 AS BIGINT
        ) <= CAST(
            CAST((SELECT value FROM protocol_parameters WHERE name = 'midturn_pause_max_seconds') AS DECIMAL(18, 6))
            * 1000000 AS BIGINT
        )
),
-- By the highest threshold reached, as in floor_reached_counts: what reaches it reaches every lower one too.
counted AS (
    SELECT
        e.run_id, e.fold, e.cluster_id, e.horizon_steps, e.stratum, e.truncated, t.threshold,
        count(*) AS n_short_resume
    FROM resumed AS e
    LEFT JOIN operating_levels AS t
        ON t.run_id = e.run_id
        AND t.fold = e.fold
        AND t.kind = 'response'
        AND t.horizon_steps = e.horizon_steps
        AND e.score >= t.threshold
        AND e.score < t.next_threshold
    GROUP BY e.run_id, e.fold, e.cluster_id, e.horizon_steps, e.stratum, e.truncated, t.threshold
)
SELECT
    c.run_id,
    c.population,
    c.stratum,
    c.cluster_id,
    c.fold,
    c.horizon_s,
    t.recall,
    min(c.n_candidates) AS n_candidates,
    min(c.n_excluded) AS n_excluded,
    min(c.n_censored) AS n_censored,
    CAST(coalesce(sum(n.n_short_resume), 0) AS BIGINT) AS n_short_resume,
    CAST(
        coalesce(sum(CASE WHEN n.threshold >= t.threshold THEN n.n_short_resume END), 0) AS BIGINT
    ) AS n_short_resume_triggered,
    min(t.n_positives) AS calibration_positives
FROM cells AS c
JOIN operating_points AS t
    ON t.run_id = c.run_id AND t.fold = c.fold AND t.kind = 'response' AND t.horizon_steps = c.horizon_steps
LEFT JOIN counted AS n
    ON n.run_id = c.run_id
    AND n.fold = c.fold
    AND n.cluster_id = c.cluster_id
    AND n.horizon_steps = c.horizon_steps
    AND (c.stratum = 'all' OR n.stratum = c.stratum)
    AND (c.population = 'observed' OR NOT n.truncated)
GROUP BY c.run_id, c.population, c.stratum, c.cluster_id, c.fold, c.horizon_s, t.recall
