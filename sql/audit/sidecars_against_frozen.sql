/* ---
name: sidecars_against_frozen
layer: audit
title: Sidecar values that are not the frozen ones
inputs: [frozen_results]
grain: [run_id, metric, sidecar_digest, frozen_digest]
parameters: [frozen_tolerance]
definition: Every value of a sidecar that differs from the frozen catalogue's by more than the tolerance, or that is no number. A metric that only one of the two records is not compared.
not: Says nothing about which of the two is right. The frozen catalogue is the authority for reported values; a sidecar is provenance.
source: WISP, "Evaluation and result authority"
--- */
WITH
compared AS (
    SELECT
        s.run_id,
        s.metric,
        s.source_digest AS sidecar_digest,
        f.source_digest AS frozen_digest,
        s.value AS observed,
        f.value AS expected,
        s.value - f.value AS difference
    FROM frozen_results AS s
    JOIN frozen_results AS f ON f.run_id = s.run_id AND f.metric = s.metric
    WHERE s.origin = 'sidecar' AND f.origin = 'frozen_catalogue' AND f.value IS NOT NULL
)
SELECT
    run_id,
    metric,
    sidecar_digest,
    frozen_digest,
    observed,
    expected,
    difference
FROM compared
WHERE observed IS NULL
    OR abs(difference) > CAST((SELECT value FROM protocol_parameters WHERE name = 'frozen_tolerance') AS DOUBLE)
