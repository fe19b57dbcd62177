/* ---
name: floor_event_report
layer: view
title: Floor events by horizon
inputs: [floor_event_counts, floor_short_resume_counts]
grain: [run_id, population, stratum, horizon_s]
parameters: []
definition: >-
  Denominators first: how many candidates of either kind there were at a horizon and how each of them was counted.
  n_response, n_no_response, n_yield, n_continue and n_short_resume count scored events.
--- */
WITH
events AS (
    SELECT
        run_id, population, stratum, kind, horizon_s,
        CAST(sum(n_candidates) AS BIGINT) AS n_candidates,
        CAST(sum(n_positive) AS BIGINT) AS n_positive,
        CAST(sum(n_negative) AS BIGINT) AS n_negative,
        CAST(sum(n_censored) AS BIGINT) AS n_censored,
        CAST(sum(n_invalid) AS BIGINT) AS n_invalid,
        CAST(sum(n_empty_window) AS BIGINT) AS n_empty_window,
        CAST(sum(n_truncated) AS BIGINT) AS n_truncated
    FROM floor_event_counts
    GROUP BY run_id, population, stratum, kind, horizon_s
),
-- The count is the same at every wanted recall; only triggers differ.
restarts AS (
    SELECT run_id, population, stratum, horizon_s, max(n_short_resume) AS n_short_resume
    FROM (
        SELECT run_id, population, stratum, horizon_s, recall, CAST(sum(n_short_resume) AS BIGINT) AS n_short_resume
        FROM floor_short_resume_counts
        GROUP BY run_id, population, stratum, horizon_s, recall
    ) AS by_recall
    GROUP BY run_id, population, stratum, horizon_s
)
SELECT
    r.run_id,
    r.population,
    r.stratum,
    r.horizon_s,
    r.n_candidates AS n_response_candidates,
    r.n_positive AS n_response,
    r.n_negative AS n_no_response,
    r.n_censored AS n_response_censored,
    r.n_invalid AS n_response_invalid,
    r.n_empty_window AS n_response_empty_window,
    r.n_truncated AS n_response_truncated,
    s.n_short_resume,
    y.n_candidates AS n_yield_candidates,
    y.n_positive AS n_yield,
    y.n_negative AS n_continue,
    y.n_censored AS n_yield_censored,
    y.n_invalid AS n_yield_invalid,
    y.n_empty_window AS n_yield_empty_window,
    y.n_truncated AS n_yield_truncated
FROM events AS r
JOIN events AS y
    ON y.run_id = r.run_id AND y.population = r.population AND y.stratum = r.stratum AND y.horizon_s = r.horizon_s
    AND y.kind = 'yield'
JOIN restarts AS s
    ON s.run_id = r.run_id AND s.population = r.population AND s.stratum = r.stratum AND s.horizon_s = r.horizon_s
WHERE r.kind = 'response'
