/* ---
name: top_k_slope
layer: metric
title: Filtering by slope, top-k correctness
inputs: [filter_correct]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: []
definition: >-
  Share of successful trajectories of the query task among the top k candidates ranked by the least-squares slope of the trace,
  all but the final point; the mean over query tasks. Ties at the cut share the places left.
not: Not a recall; a pool may hold fewer successes than k.
source: Robometer frozen evaluation, "Filtering emitted by the frozen evaluator"
--- */
SELECT
    run_id,
    stratum,
    value,
    numerator,
    denominator,
    n_items,
    n_excluded,
    n_failed,
    status,
    reason
FROM filter_correct
WHERE score = 'slope'
