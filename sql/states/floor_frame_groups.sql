/* ---
name: floor_frame_groups
layer: state
title: Frames per score
inputs: [floor_frames, floor_cells]
grain: [run_id, stratum, cluster_id, horizon_s, score]
merge: {n_positive: sum, n_negative: sum, n_excluded: sum}
split: {floor_activity: session_index, floor_forecasts: session_index}
poolable: true
parameters: []
definition: >-
  Evaluated rows that got the same forecast at one step, with the wearer speaking and silent. Rows without a valid
  forecast stand under a null score, which every cluster has. Kept for stratum `all` only.
--- */
SELECT
    run_id,
    'all' AS stratum,
    cluster_id,
    horizon_s,
    score,
    count(*) FILTER (WHERE score IS NOT NULL AND wearer) AS n_positive,
    count(*) FILTER (WHERE score IS NOT NULL AND NOT wearer) AS n_negative,
    count(*) FILTER (WHERE score IS NULL AND wearer IS NOT NULL) AS n_excluded
FROM (
    SELECT run_id, cluster_id, horizon_s, score, wearer FROM floor_frames
    UNION ALL
    SELECT run_id, cluster_id, horizon_s, CAST(NULL AS DOUBLE), CAST(NULL AS BOOLEAN)
    FROM floor_cells
    WHERE kind = 'response' AND population = 'observed' AND stratum = 'all'
) AS frames
GROUP BY run_id, cluster_id, horizon_s, score
