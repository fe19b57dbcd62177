/* ---
name: processor_seconds
layer: metric
title: Processor seconds
inputs: [timing_sums]
grain: [run_id, stratum]
unit: seconds
better: lower
denominator: data
parameters: []
definition: >-
  Plain mean, over ways and rounds, of the seconds of processor time, of all cores together, that one way of one work
  took in one round.
not: Not the time that went by; several cores at once make it longer than that.
--- */
WITH
pooled AS (
    SELECT
        run_id,
        stratum,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(processor_ns) AS BIGINT) AS taken_ns
    FROM timing_sums
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN n > 0 THEN CAST(taken_ns AS DOUBLE) / CAST(n * 1000000000 AS DOUBLE) END AS value,
    CAST(taken_ns AS DOUBLE) / CAST(1000000000 AS DOUBLE) AS numerator,
    n AS denominator,
    n AS n_items,
    CAST(0 AS BIGINT) AS n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN n > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n > 0 THEN NULL ELSE 'no_items' END AS reason
FROM pooled
