/* ---
name: floor_cells
layer: fact
title: Cells of the evaluation
inputs: [floor_roles, floor_recordings, floor_horizons, floor_addressee]
grain: [run_id, population, stratum, cluster_id, kind, horizon_steps]
whole: true
parameters: []
definition: >-
  Every stratum, cluster, kind and horizon that a run is evaluated on, also where no event falls: a cluster without
  events is still a cluster, and a stratum without events is undefined, not absent. Strata besides `all` exist where
  the data set has addressee annotation: those annotated in the evaluated sessions, and `unannotated`. Population
  `observed` is every candidate, `full_horizon` those whose horizon lies inside their recording.
--- */
WITH
evaluated AS (
    SELECT DISTINCT o.run_id, o.fold, o.cluster_id, r.dataset_id
    FROM floor_roles AS o
    JOIN floor_recordings AS r ON r.recording = o.recording
    WHERE o.role = 'evaluation'
),
strata AS (
    SELECT DISTINCT run_id, 'all' AS stratum FROM evaluated
    UNION
    SELECT DISTINCT o.run_id, a.stratum
    FROM floor_roles AS o
    JOIN floor_recordings AS r ON r.recording = o.recording
    JOIN floor_addressee AS a ON a.dataset_id = r.dataset_id AND a.session_index = r.session_index
    WHERE o.role = 'evaluation'
    UNION
    SELECT DISTINCT run_id, 'unannotated' FROM evaluated WHERE dataset_id IN (SELECT dataset_id FROM floor_addressee)
)
SELECT
    e.run_id,
    populations.population,
    s.stratum,
    e.cluster_id,
    e.fold,
    h.kind,
    h.horizon_steps,
    h.horizon_s
FROM evaluated AS e
JOIN strata AS s ON s.run_id = e.run_id
CROSS JOIN floor_horizons AS h
CROSS JOIN (SELECT 'observed' AS population UNION ALL SELECT 'full_horizon' AS population) AS populations
