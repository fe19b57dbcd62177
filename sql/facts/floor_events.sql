/* ---
name: floor_events
layer: fact
title: Floor events
inputs: [floor_candidates, floor_roles, floor_horizons, floor_paths]
grain: [run_id, fold, role, session_index, kind, boundary_row, horizon_steps]
split: {floor_activity: session_index, floor_forecasts: session_index}
parameters: [decision_timing]
materialize: false
definition: >-
  Each candidate at each horizon is exactly one of, in this order: censored (no outcome, no competing boundary within
  the horizon, and the horizon runs past the recording), empty_window (the competing boundary is the next row),
  invalid (a forecast on its path is not valid) or scored. Outcome: the wearer's transition comes within the horizon
  and before the competing boundary. The path is every forecast made at the decision row for the rows up to the
  horizon, the competing boundary and the end of the recording; it does not stop at the outcome. Score: the largest
  wearer probability on the path (response), or 1 minus the smallest (yield).
not: A ranking score, not a calibrated probability of the event.
source: EasyCom floor events, "Event attribution"
--- */
WITH
-- Kept for the query alone: every thread takes some of the candidates there, also where a table of them is too short to
-- be shared.
decided AS MATERIALIZED (
    SELECT
        r.run_id, r.fold, r.role, r.session_index, r.session, r.first_row, r.last_row, r.cluster_id, r.cluster_unit,
        c.kind, c.boundary_row, c.decision_row, c.competing_row, c.transition_row, c.stratum,
        p.p_wearer,
        coalesce(p.n_valid, 0) AS n_valid
    FROM floor_candidates AS c
    JOIN floor_roles AS r ON r.recording = c.recording
    LEFT JOIN floor_paths AS p
        ON p.run_id = r.run_id
        AND p.forecast_set = r.forecast_set
        AND p.session_index = r.session_index
        AND p.decision_row = c.decision_row
),
-- Both kinds have the same horizons. Joined by kind, one thread would do all that follows.
windows AS (
    SELECT
        c.run_id, c.fold, c.role, c.session_index, c.session, c.first_row, c.last_row, c.cluster_id, c.cluster_unit,
        c.kind, c.boundary_row, c.decision_row, c.competing_row, c.transition_row, c.stratum, c.p_wearer, c.n_valid,
        h.horizon_steps, h.horizon_s,
        c.decision_row + h.horizon_steps AS horizon_row,
        least(c.decision_row + h.horizon_steps, coalesce(c.competing_row - 1, c.last_row), c.last_row) - c.decision_row
            AS path_steps,
        coalesce(
            c.transition_row <= c.decision_row + h.horizon_steps
            AND (c.competing_row IS NULL OR c.transition_row < c.competing_row),
            FALSE
        ) AS outcome
    FROM decided AS c
    CROSS JOIN (SELECT DISTINCT horizon_steps, horizon_s FROM floor_horizons) AS h
)
SELECT
    run_id,
    fold,
    role,
    session_index,
    session,
    first_row AS segment_first_row,
    coalesce(cluster_id, session || '@' || CAST(boundary_row AS VARCHAR)) AS cluster_id,
    cluster_unit,
    kind,
    (SELECT value FROM protocol_parameters WHERE name = 'decision_timing') AS decision_timing,
    boundary_row,
    decision_row,
    horizon_steps,
    horizon_s,
    competing_row,
    transition_row,
    CASE
        WHEN NOT outcome AND (competing_row IS NULL OR competing_row > horizon_row) AND horizon_row > last_row
            THEN 'censored'
        WHEN path_steps = 0 THEN 'empty_window'
        WHEN path_steps > n_valid THEN 'invalid'
        ELSE 'scored'
    END AS state,
    outcome,
    CASE
        WHEN state <> 'scored' THEN NULL
        WHEN kind = 'response' THEN list_max(p_wearer[1:path_steps])
        ELSE 1 - list_min(p_wearer[1:path_steps])
    END AS score,
    horizon_row > last_row AS truncated,
    stratum
FROM windows
