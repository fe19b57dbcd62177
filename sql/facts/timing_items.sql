/* ---
name: timing_items
layer: fact
title: The timed items of a run
inputs: [timings]
grain: [run_id, item_id]
parameters: []
definition: >-
  Every way of every work in every round by its name, which says the size too. Runs of other works, sizes or rounds have
  another evaluation set.
not: Holds no time, and nothing of the machine.
--- */
SELECT
    run_id,
    item_index,
    item_id,
    CAST(NULL AS VARCHAR) AS label,
    CAST(round AS VARCHAR) AS cluster_id,
    role || ' ' || work AS stratum
FROM timings
