/* ---
name: dim_protocol
layer: view
title: Protocols
inputs: [protocols]
grain: [protocol_fingerprint]
parameters: []
definition: One row per protocol fingerprint, with its name, its system and what it does not claim.
--- */
SELECT
    p.protocol_fingerprint,
    p.protocol,
    p.name,
    p.version,
    p.system,
    p.title,
    p.claims
FROM protocols AS p
