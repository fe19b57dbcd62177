/* ---
name: timing_rounds
layer: fact
title: What each way took in each round
inputs: [timings]
grain: [run_id, item_index]
parameters: [machine]
definition: >-
  Every way of every work in every round, on the machine that the protocol names: elapsed time, processor time and the
  time of the floor in whole nanoseconds, so that sums of them are exact. A round is a cluster.
--- */
SELECT
    run_id,
    item_index,
    (SELECT value FROM protocol_parameters WHERE name = 'machine') AS machine,
    work,
    role,
    CAST(round AS VARCHAR) AS cluster_id,
    CAST(round(seconds * 1000000000) AS BIGINT) AS elapsed_ns,
    CAST(round(processor_seconds * 1000000000) AS BIGINT) AS processor_ns,
    CAST(round(floor_seconds * 1000000000) AS BIGINT) AS floor_ns,
    memory_bytes
FROM timings
