/* ---
name: floor_items
layer: fact
title: The evaluation set of a run
inputs: [floor_candidates, floor_roles, floor_recordings, floor_segments]
grain: [run_id, item_id]
parameters: []
definition: >-
  Every candidate of the evaluated sessions with what its label is made of (competing boundary, transition of the
  wearer, last row of the recording), and every evaluated recording with its length and the digest of its rows, so
  that other labels or another segment map are another evaluation set.
not: Says nothing about forecasts; invalid ones are excluded later and counted.
--- */
SELECT
    o.run_id,
    o.session || '/' || c.kind || '/' || CAST(c.boundary_row AS VARCHAR) AS item_id,
    coalesce(CAST(c.competing_row AS VARCHAR), '-') || ',' || coalesce(CAST(c.transition_row AS VARCHAR), '-')
        || ',' || CAST(o.last_row AS VARCHAR) AS label,
    o.cluster_id,
    coalesce(c.stratum, 'all') AS stratum
FROM floor_candidates AS c
JOIN floor_roles AS o ON o.recording = c.recording
WHERE o.role = 'evaluation'
UNION ALL
SELECT
    o.run_id,
    o.session || '@' || CAST(o.first_row AS VARCHAR) AS item_id,
    CAST(g.n_rows AS VARCHAR) || ',' || g.activity_digest AS label,
    o.cluster_id,
    'all' AS stratum
FROM floor_roles AS o
JOIN floor_recordings AS r ON r.recording = o.recording
JOIN floor_segments AS g
    ON g.dataset_id = r.dataset_id AND g.session_index = r.session_index AND g.first_row = r.first_row
WHERE o.role = 'evaluation'
