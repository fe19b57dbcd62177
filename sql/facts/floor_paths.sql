/* ---
name: floor_paths
layer: fact
title: Forecasts made at decision rows
inputs: [floor_candidates, floor_roles, floor_forecasts]
grain: [run_id, forecast_set, session_index, decision_row]
parameters: []
materialize: true
definition: >-
  The forecasts that a run made at the decision row of any candidate, and how many of them are valid before the first
  that is not.
--- */
WITH
decisions AS (
    SELECT DISTINCT o.session_index, c.decision_row
    FROM floor_candidates AS c
    JOIN floor_roles AS o ON o.recording = c.recording
)
-- Decisions are few: all forecasts are read once, found by two integers, and only these are kept.
SELECT
    f.run_id,
    f.forecast_set,
    f.session_index,
    f.row AS decision_row,
    f.p_wearer,
    coalesce(nullif(list_position(f.valid, FALSE), 0) - 1, len(f.valid)) AS n_valid
FROM floor_forecasts AS f
SEMI JOIN decisions AS d ON d.session_index = f.session_index AND d.decision_row = f.row
