/* ---
name: floor_roles
layer: fact
title: Recordings in their roles
inputs: [floor_folds, floor_recordings]
grain: [run_id, fold, role, recording]
whole: true
parameters: []
definition: >-
  Every recording of a session in each role that a run gives it, with what is resampled as one cluster. Evaluation:
  sessions if there are at least 10, else segments if there are at least 10, else sessions. Calibration, per fold:
  sessions if at least 5, else segments if at least 5, else each candidate (cluster_id is null here).
--- */
WITH
sized AS (
    SELECT
        f.run_id, f.fold, f.role, f.forecast_set,
        r.recording, r.session_index, r.session, r.first_row, r.last_row,
        CASE WHEN f.role = 'calibration' THEN f.fold END AS pool
    FROM floor_folds AS f
    JOIN floor_recordings AS r ON r.dataset_id = f.dataset_id AND r.session_index = f.session_index
),
pools AS (
    SELECT
        run_id, role, pool,
        count(DISTINCT session_index) AS n_sessions,
        count(*) AS n_segments,
        CASE WHEN role = 'calibration' THEN 5 ELSE 10 END AS enough
    FROM sized
    GROUP BY run_id, role, pool
),
units AS (
    SELECT
        run_id, role, pool,
        CASE
            WHEN n_sessions >= enough THEN 'session'
            WHEN n_segments >= enough THEN 'segment'
            WHEN role = 'calibration' THEN 'candidate'
            ELSE 'session'
        END AS cluster_unit
    FROM pools
)
SELECT
    s.run_id,
    s.fold,
    s.role,
    s.forecast_set,
    s.recording,
    s.session_index,
    s.session,
    s.first_row,
    s.last_row,
    CASE u.cluster_unit
        WHEN 'session' THEN s.session
        WHEN 'segment' THEN s.session || '@' || CAST(s.first_row AS VARCHAR)
    END AS cluster_id,
    u.cluster_unit
FROM sized AS s
JOIN units AS u ON u.run_id = s.run_id AND u.role = s.role AND u.pool IS NOT DISTINCT FROM s.pool
