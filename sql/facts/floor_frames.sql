/* ---
name: floor_frames
layer: fact
title: Forecast frames
inputs: [floor_activity, floor_forecasts, floor_roles, floor_recordings, floor_horizons]
grain: [run_id, session_index, row, horizon_steps]
parameters: []
definition: >-
  Every evaluated row with the forecast that was made for it 1 to n_horizons rows earlier in the same recording. score
  is null where that forecast is not valid.
not: Endpoint diagnostic only; says nothing about who was to speak or about competing outcomes.
--- */
WITH
forecasts AS (
    SELECT
        o.run_id, o.cluster_id, o.recording, f.session_index, f.row, o.last_row,
        f.p_wearer, f.valid
    FROM floor_forecasts AS f
    JOIN floor_roles AS o
        ON o.run_id = f.run_id
        AND o.forecast_set = f.forecast_set
        AND o.session_index = f.session_index
        AND f.row BETWEEN o.first_row AND o.last_row
    WHERE o.role = 'evaluation'
)
SELECT
    f.run_id,
    f.cluster_id,
    f.session_index,
    a.row,
    h.horizon_steps,
    h.horizon_s,
    a.wearer,
    CASE WHEN f.valid[h.horizon_steps] THEN f.p_wearer[h.horizon_steps] END AS score
FROM forecasts AS f
JOIN floor_horizons AS h ON h.kind = 'response' AND f.row + h.horizon_steps <= f.last_row
JOIN floor_recordings AS r ON r.recording = f.recording
JOIN floor_activity AS a
    ON a.dataset_id = r.dataset_id AND a.session_index = f.session_index AND a.row = f.row + h.horizon_steps
