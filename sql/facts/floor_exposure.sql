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
SELECT
    o.run_id,
    o.cluster_id,
    a.session_index,
    a.row,
    a.wearer,
    coalesce(d.stratum, 'unannotated') AS stratum,
    o.last_row - a.row AS n_following,
    coalesce(nullif(list_position(f.valid, FALSE), 0) - 1, len(f.valid), 0) AS n_valid
FROM floor_roles AS o
JOIN floor_recordings AS r ON r.recording = o.recording
JOIN floor_activity AS a
    ON a.dataset_id = r.dataset_id
    AND a.session_index = r.session_index
    AND a.row BETWEEN r.first_row AND r.last_row
LEFT JOIN floor_forecasts AS f
    ON f.run_id = o.run_id
    AND f.forecast_set = o.forecast_set
    AND f.session_index = a.session_index
    AND f.row = a.row
LEFT JOIN floor_addressee AS d
    ON d.dataset_id = r.dataset_id
    AND d.session_index = r.session_index
    AND a.row BETWEEN d.first_row AND d.last_row
WHERE o.role = 'evaluation' AND r.dataset_id IN (SELECT dataset_id FROM floor_addressee)
