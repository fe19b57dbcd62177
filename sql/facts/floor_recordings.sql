/* ---
name: floor_recordings
layer: fact
title: Recordings
inputs: [floor_segments]
grain: [recording]
whole: true
parameters: []
definition: >-
  One row per segment, which is a recording of its own: no transition, window or horizon crosses its ends. `recording`
  is an integer because frames are windowed by it.
--- */
SELECT
    CAST(row_number() OVER (ORDER BY dataset_id, session_index, first_row) AS INTEGER) AS recording,
    dataset_id,
    session_index,
    session,
    first_row,
    first_row + n_rows - 1 AS last_row
FROM floor_segments
