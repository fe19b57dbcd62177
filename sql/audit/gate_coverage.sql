/* ---
name: gate_coverage
layer: audit
title: What each gate was run on
inputs: [gate_models]
grain: [gate_id, gate]
parameters: []
definition: Per gate the models it was run on, of all models of the inventory, and how many of them passed and failed. The rest was not run, which is no pass.
not: No total over gates. Loading, predictions, exports and metrics are different checks.
source: WISP, "Evaluation and result authority"
--- */
SELECT
    gate_id,
    gate,
    CAST(sum(exercised) AS BIGINT) AS exercised,
    count(*) AS n_models,
    CAST(sum(CASE WHEN status = 'passed' THEN 1 ELSE 0 END) AS BIGINT) AS passed,
    CAST(sum(CASE WHEN status = 'failed' THEN 1 ELSE 0 END) AS BIGINT) AS failed,
    CAST(sum(CASE WHEN status = 'not_run' THEN 1 ELSE 0 END) AS BIGINT) AS not_run
FROM gate_models
GROUP BY gate_id, gate
