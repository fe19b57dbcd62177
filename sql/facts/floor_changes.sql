/* ---
name: floor_changes
layer: fact
title: Changes of the floor
inputs: [floor_activity, floor_recordings]
grain: [recording, row]
parameters: []
definition: >-
  The rows at which the wearer or the others start or stop, with the state they change to. The first row of a recording
  changes nothing: what came before it was not recorded.
--- */
WITH
placed AS (
    SELECT r.recording, a.row, a.wearer, a.others
    FROM floor_activity AS a
    JOIN floor_recordings AS r
        ON r.dataset_id = a.dataset_id
        AND r.session_index = a.session_index
        AND a.row BETWEEN r.first_row AND r.last_row
),
beside AS (
    SELECT
        recording, row, wearer, others,
        lag(wearer) OVER (PARTITION BY recording ORDER BY row) AS wearer_before,
        lag(others) OVER (PARTITION BY recording ORDER BY row) AS others_before
    FROM placed
)
SELECT
    recording,
    row,
    wearer,
    others,
    wearer <> wearer_before AS wearer_changes,
    others <> others_before AS others_change
FROM beside
WHERE wearer <> wearer_before OR others <> others_before
