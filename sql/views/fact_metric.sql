/* ---
name: fact_metric
layer: view
title: Values of metrics
inputs: [metric_values, authoritative_values]
grain: [run_id, protocol_fingerprint, metric, stratum, horizon_s, recall, step, origin, source_digest]
parameters: []
definition: >-
  Every sealed value with its numerator and denominator. is_authority marks the one that stands for its run, so that a
  chart that keeps only these shows each number once per protocol fingerprint. Undefined values are null with a reason.
--- */
SELECT
    coalesce(v.protocol, v.claimed_protocol, 'recorded') || ':' || v.metric AS metric_key,
    v.run_id,
    v.protocol,
    v.protocol_fingerprint,
    v.metric,
    v.metric_fingerprint,
    v.data_digest,
    v.stratum,
    v.horizon_s,
    v.recall,
    v.step,
    v.value,
    v.status,
    v.reason,
    v.tainted,
    v.taint_reason,
    v.numerator,
    v.denominator,
    v.n_items,
    v.n_excluded,
    v.n_failed,
    v.unit,
    v.better,
    v.origin,
    v.claimed_protocol,
    v.source_digest,
    a.run_id IS NOT NULL AS is_authority
FROM metric_values AS v
LEFT JOIN authoritative_values AS a
    ON a.run_id = v.run_id AND a.metric = v.metric AND a.stratum = v.stratum AND a.origin = v.origin
    AND a.horizon_s IS NOT DISTINCT FROM v.horizon_s
    AND a.recall IS NOT DISTINCT FROM v.recall
    AND a.step IS NOT DISTINCT FROM v.step
    AND a.protocol_fingerprint IS NOT DISTINCT FROM v.protocol_fingerprint
    AND a.source_digest IS NOT DISTINCT FROM v.source_digest
