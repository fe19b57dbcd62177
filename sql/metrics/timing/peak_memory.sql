/* ---
name: peak_memory
layer: metric
title: Peak memory
inputs: [timing_sums]
grain: [run_id, stratum]
unit: megabytes
better: lower
denominator: data
parameters: []
definition: >-
  The most memory that any way held at one time in any round, in megabytes of 1,048,576 bytes, over those whose memory
  was looked at; undefined (no_items) where none was.
not: Not a sum over ways, which do not run at the same time.
--- */
WITH
pooled AS (
    SELECT
        run_id,
        stratum,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(n_watched) AS BIGINT) AS n_watched,
        max(memory_bytes) AS memory_bytes
    FROM timing_sums
    GROUP BY run_id, stratum
)
SELECT
    run_id,
    stratum,
    CASE WHEN n_watched > 0 THEN CAST(memory_bytes AS DOUBLE) / CAST(1048576 AS DOUBLE) END AS value,
    CAST(NULL AS DOUBLE) AS numerator,
    n_watched AS denominator,
    n AS n_items,
    n - n_watched AS n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN n_watched > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN n_watched > 0 THEN NULL ELSE 'no_items' END AS reason
FROM pooled
