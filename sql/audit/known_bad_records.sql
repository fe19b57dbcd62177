/* ---
name: known_bad_records
layer: audit
title: Values that errata keep out of every view
inputs: [metric_values, known_bad]
grain: [run_id, metric, stratum, horizon_s, recall, step, origin, protocol_fingerprint, source_digest, kind, name, reason]
parameters: []
definition: Every value of a run that is known to be bad, and every value computed by, or claimed for, a scorer that is known to be bad (its protocol, a fingerprint, or the digest of the file it was recorded in), with the reason.
not: Nothing is deleted. The rows stand in metric_values as they were sealed.
--- */
SELECT
    v.run_id,
    v.metric,
    v.stratum,
    v.horizon_s,
    v.recall,
    v.step,
    v.origin,
    v.protocol,
    v.protocol_fingerprint,
    v.claimed_protocol,
    v.source_digest,
    v.value,
    b.kind,
    b.name,
    b.reason
FROM metric_values AS v
JOIN known_bad AS b
    ON (b.kind = 'run' AND b.name = v.run_id)
    OR (b.kind = 'scorer' AND (b.name = v.protocol OR b.name = v.claimed_protocol OR b.name = v.source_digest
        OR b.name = v.protocol_fingerprint OR b.name = v.metric_fingerprint))
