/* ---
name: seconds_of_floor
layer: metric
title: Elapsed time over the floor's
inputs: [timing_sums]
grain: [run_id, stratum]
unit: ratio
better: lower
denominator: model
parameters: []
definition: >-
  Elapsed seconds of the ways that have a floor, divided by those of their floors in the same rounds. Undefined without
  a floor (no_items), and where the floors took no time (zero_baseline).
not: Not a mean of ratios; a long work weighs more than a short one. Work that has no floor is excluded.
--- */
WITH
pooled AS (
    SELECT
        run_id,
        stratum,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_floored) AS BIGINT) AS n_floored,
        CAST(sum(floored_ns) AS BIGINT) AS floored_ns,
        CAST(sum(floor_ns) AS BIGINT) AS floor_ns
    FROM timing_sums
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN floor_ns > 0 THEN CAST(floored_ns AS DOUBLE) / CAST(floor_ns AS DOUBLE) END AS value,
    CAST(floored_ns AS DOUBLE) / CAST(1000000000 AS DOUBLE) AS numerator,
    CAST(floor_ns AS DOUBLE) / CAST(1000000000 AS DOUBLE) AS denominator,
    n AS n_items,
    n - n_floored AS n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN floor_ns > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN floor_ns > 0 THEN NULL WHEN n_floored = 0 THEN 'no_items' ELSE 'zero_baseline' END AS reason
FROM pooled
