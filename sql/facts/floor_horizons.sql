/* ---
name: floor_horizons
layer: fact
title: Kinds and horizons
inputs: []
grain: [kind, horizon_steps]
parameters: [n_horizons, row_seconds]
definition: >-
  Both kinds of event at every horizon: 1 to n_horizons rows. Seconds come from whole microseconds, so that 3 rows of
  0.2 s are exactly the double nearest to 0.6.
--- */
WITH
steps AS (
    SELECT unnest(range(
        1, CAST((SELECT value FROM protocol_parameters WHERE name = 'n_horizons') AS BIGINT) + 1
    )) AS horizon_steps
),
timed AS (
    SELECT
        horizon_steps,
        horizon_steps * CAST(
            CAST((SELECT value FROM protocol_parameters WHERE name = 'row_seconds') AS DECIMAL(18, 6))
            * 1000000 AS BIGINT
        ) AS microseconds
    FROM steps
)
SELECT
    kinds.kind,
    CAST(timed.horizon_steps AS SMALLINT) AS horizon_steps,
    CAST(timed.microseconds AS DOUBLE) / 1e6 AS horizon_s
FROM timed
CROSS JOIN (SELECT 'response' AS kind UNION ALL SELECT 'yield' AS kind) AS kinds
