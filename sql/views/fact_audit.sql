/* ---
name: fact_audit
layer: view
title: Findings of audits, gates and errata
inputs: [audit_findings, gate_findings, known_bad]
grain: [kind, audit_id, run_id, subject, metric, reason]
parameters: []
definition: >-
  What audits found (kind audit), how gates ended (kind gate) and what errata name as known to be bad (kind erratum).
  A gate that was not run is there as not_run and never counts as passed.
--- */
SELECT
    'audit' AS kind,
    a.audit_id,
    a.run_id,
    a.audit AS subject,
    a.metric,
    a.explanation AS status,
    a.observed,
    a.expected,
    a.difference,
    a.tolerance,
    CAST(NULL AS BIGINT) AS n_compared,
    CAST(NULL AS BIGINT) AS n_different,
    CAST(NULL AS BOOLEAN) AS decides,
    a.explained_by,
    CAST(NULL AS VARCHAR) AS reason
FROM audit_findings AS a
UNION ALL
SELECT
    'gate' AS kind,
    g.gate_id AS audit_id,
    g.run_id,
    g.gate || ': ' || g.subject AS subject,
    CAST(NULL AS VARCHAR) AS metric,
    g.status,
    CAST(NULL AS DOUBLE) AS observed,
    CAST(NULL AS DOUBLE) AS expected,
    CAST(NULL AS DOUBLE) AS difference,
    CAST(NULL AS DOUBLE) AS tolerance,
    g.n_compared,
    g.n_different,
    g.decides,
    CAST(NULL AS VARCHAR[]) AS explained_by,
    g.reason
FROM gate_findings AS g
UNION ALL
SELECT
    'erratum' AS kind,
    CAST(NULL AS VARCHAR) AS audit_id,
    CASE WHEN b.kind = 'run' THEN b.name END AS run_id,
    b.kind || ': ' || b.name AS subject,
    CAST(NULL AS VARCHAR) AS metric,
    'known_bad' AS status,
    CAST(NULL AS DOUBLE) AS observed,
    CAST(NULL AS DOUBLE) AS expected,
    CAST(NULL AS DOUBLE) AS difference,
    CAST(NULL AS DOUBLE) AS tolerance,
    CAST(NULL AS BIGINT) AS n_compared,
    CAST(NULL AS BIGINT) AS n_different,
    CAST(NULL AS BOOLEAN) AS decides,
    CAST(NULL AS VARCHAR[]) AS explained_by,
    b.reason
FROM known_bad AS b
