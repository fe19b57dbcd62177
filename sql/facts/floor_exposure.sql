/* ---
name: floor_exposure
layer: fact
title: Rows at which a false trigger could happen
inputs: [floor_activity, floor_forecasts, floor_roles, floor_recordings, floor_addressee]
grain: [run_id, session_index, row]
parameters: []
definition: >-
  Evaluated rows of data sets with addressee annotation, with the addressee stratum of the row itself: how many of the
  forecasts made there are valid before the first that is not, and how many rows the recording still has.
--- */
WITH
annotated AS (
    SELECT
        o.run_id, o.forecast_set, o.cluster_id, o.session_index, o.first_row, o.last_row,
        r.dataset_id
    FROM floor_roles AS o
    JOIN floor_recordings AS r ON r.recording = o.recording
    WHERE o.role = 'evaluation' AND r.dataset_id IN (SELECT dataset_id FROM floor_addressee)
),
-- Without annotation there is nothing to read forecasts for.
forecasts AS (
    SELECT
        run_id, forecast_set, session_index, row,
        coalesce(nullif(list_position(valid, FALSE), 0) - 1, len(valid)) AS n_valid
    FROM floor_forecasts
    WHERE run_id IN (SELECT run_id FROM annotated)
)
SELECT
    o.run_id,
    o.cluster_id,
    a.session_index,
    a.row,
    a.wearer,
    coalesce(d.stratum, 'unannotated') AS stratum,
    o.last_row - a.row AS n_following,
    coalesce(f.n_valid, 0) AS n_valid
FROM annotated AS o
JOIN floor_activity AS a
    ON a.dataset_id = o.dataset_id
    AND a.session_index = o.session_index
    AND a.row BETWEEN o.first_row AND o.last_row
LEFT JOIN forecasts AS f
    ON f.run_id = o.run_id
    AND f.forecast_set = o.forecast_set
    AND f.session_index = a.session_index
    AND f.row = a.row
LEFT JOIN floor_addressee AS d
    ON d.dataset_id = o.dataset_id
    AND d.session_index = o.session_index
    AND a.row BETWEEN d.first_row AND d.last_row
