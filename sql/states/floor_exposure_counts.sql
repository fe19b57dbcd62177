/* ---
name: floor_exposure_counts
layer: state
title: Exposure per cluster
inputs: [floor_exposure, floor_cells]
grain: [run_id, stratum, cluster_id, kind, horizon_s]
merge: {n_rows: sum}
split: {floor_activity: session_index, floor_forecasts: session_index}
parameters: [exposure_path]
definition: >-
  Rows at which a false trigger of one kind could have happened at one horizon: the wearer is silent (response) or
  speaks (yield), and every forecast on the row's path is valid. Only for data sets with addressee annotation.
reading: >-
  The path of a row that is no candidate runs to the horizon or the end of the recording and is not empty
  (exposure_path = observable); `full` asks for the whole horizon inside the recording.
--- */
WITH
counted AS (
    SELECT run_id, cluster_id, stratum, wearer, n_following, n_valid, count(*) AS n_rows
    FROM floor_exposure
    GROUP BY run_id, cluster_id, stratum, wearer, n_following, n_valid
)
SELECT
    c.run_id,
    c.stratum,
    c.cluster_id,
    c.kind,
    c.horizon_s,
    CAST(coalesce(sum(n.n_rows), 0) AS BIGINT) AS n_rows
FROM floor_cells AS c
LEFT JOIN counted AS n
    ON n.run_id = c.run_id
    AND n.cluster_id = c.cluster_id
    AND n.wearer = (c.kind = 'yield')
    AND (c.stratum = 'all' OR n.stratum = c.stratum)
    AND n.n_following > 0
    AND n.n_valid >= least(c.horizon_steps, n.n_following)
    AND (
        (SELECT value FROM protocol_parameters WHERE name = 'exposure_path') = 'observable'
        OR n.n_following >= c.horizon_steps
    )
WHERE c.population = 'observed' AND c.run_id IN (SELECT run_id FROM floor_exposure)
GROUP BY c.run_id, c.stratum, c.cluster_id, c.kind, c.horizon_s
