/* ---
name: timing_sums
layer: state
title: Times per stratum and round
inputs: [timing_rounds]
grain: [run_id, stratum, cluster_id]
merge:
  {n: sum, elapsed_ns: sum, processor_ns: sum, n_floored: sum, floored_ns: sum, floor_ns: sum, n_watched: sum,
  memory_bytes: max}
parameters: []
definition: >-
  Per stratum and round, the timed ways (n) and their elapsed and processor time; of those that have a floor, how many
  (n_floored), their elapsed time (floored_ns) and that of their floors; of those whose memory was looked at, how many
  (n_watched) and the largest. all: every way. role=R: ours, other, floor or once. work=W: one way of one work at one
  size.
--- */
WITH
strata AS (
    SELECT 0 AS kind
    UNION ALL
    SELECT 1 AS kind
    UNION ALL
    SELECT 2 AS kind
),
placed AS (
    SELECT
        r.run_id,
        CASE s.kind WHEN 0 THEN 'all' WHEN 1 THEN 'role=' || r.role ELSE 'work=' || r.work END AS stratum,
        r.cluster_id, r.elapsed_ns, r.processor_ns, r.floor_ns, r.memory_bytes
    FROM timing_rounds AS r
    CROSS JOIN strata AS s
)
SELECT
    run_id,
    stratum,
    cluster_id,
    count(*) AS n,
    CAST(sum(elapsed_ns) AS BIGINT) AS elapsed_ns,
    CAST(sum(processor_ns) AS BIGINT) AS processor_ns,
    count(floor_ns) AS n_floored,
    CAST(sum(CASE WHEN floor_ns IS NULL THEN 0 ELSE elapsed_ns END) AS BIGINT) AS floored_ns,
    CAST(sum(coalesce(floor_ns, 0)) AS BIGINT) AS floor_ns,
    count(memory_bytes) AS n_watched,
    max(memory_bytes) AS memory_bytes
FROM placed
GROUP BY run_id, stratum, cluster_id
