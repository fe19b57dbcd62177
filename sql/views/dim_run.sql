/* ---
name: dim_run
layer: view
title: Runs
inputs: [runs, metric_values]
grain: [run_id]
parameters: []
definition: >-
  One row per run, the usual tags as columns of their own, all tags beside them. A run is tainted when any of its
  results was computed under a protocol that was bent on request.
--- */
WITH
results AS (
    SELECT
        run_id,
        max(tainted) AS tainted,
        max(taint_reason) AS taint_reason,
        count(DISTINCT protocol_fingerprint) AS n_protocol_fingerprints
    FROM metric_values
    GROUP BY run_id
)
SELECT
    r.run_id,
    r.system,
    r.dataset_id,
    r.created_at,
    r.tags['method'] AS method,
    r.tags['model'] AS model,
    r.tags['dataset'] AS dataset,
    r.tags['fold'] AS fold,
    r.tags['seed'] AS seed,
    r.tags['setting'] AS setting,
    r.tags['step'] AS step,
    r.tags,
    coalesce(s.tainted, FALSE) AS tainted,
    s.taint_reason,
    coalesce(s.n_protocol_fingerprints, 0) AS n_protocol_fingerprints
FROM runs AS r
LEFT JOIN results AS s ON s.run_id = r.run_id
