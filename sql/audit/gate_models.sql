/* ---
name: gate_models
layer: audit
title: How each model fared in each gate
inputs: [gate_findings]
grain: [gate_id, run_id, gate]
parameters: []
definition: One row per model and gate. failed where any deciding finding failed; else passed where at least one of them passed; else not_run. exercised is 1 where the gate was run on the model at all.
not: Gates are never merged. A row speaks for its own gate alone.
source: WISP, "Evaluation and result authority"
--- */
WITH
counted AS (
    SELECT
        gate_id, run_id, gate,
        sum(CASE WHEN decides AND status = 'failed' THEN 1 ELSE 0 END) AS failures,
        sum(CASE WHEN decides AND status = 'passed' THEN 1 ELSE 0 END) AS passes
    FROM gate_findings
    GROUP BY gate_id, run_id, gate
)
SELECT
    gate_id,
    run_id,
    gate,
    CASE WHEN failures > 0 THEN 'failed' WHEN passes > 0 THEN 'passed' ELSE 'not_run' END AS status,
    CAST(CASE WHEN failures + passes > 0 THEN 1 ELSE 0 END AS BIGINT) AS exercised
FROM counted
