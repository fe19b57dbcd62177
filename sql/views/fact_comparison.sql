/* ---
name: fact_comparison
layer: view
title: Differences between runs
inputs: [comparisons]
grain: [comparison_id, baseline_run, candidate_run, metric, horizon_s, recall, step, stratum, method]
parameters: []
definition: >-
  One change between two runs with its interval and test; a change is read as it stands and never summed or averaged.
  Pairs that answer different questions are there with status refused and the reason.
--- */
SELECT
    c.protocol || ':' || c.metric AS metric_key,
    c.comparison_id,
    c.protocol,
    c.protocol_fingerprint,
    c.verdict,
    c.baseline_run,
    c.candidate_run,
    c.metric,
    c.unit,
    c.better,
    c.stratum,
    c.horizon_s,
    c.recall,
    c.step,
    c.cluster,
    c.n_clusters,
    c.baseline,
    c.candidate,
    c.baseline_numerator,
    c.baseline_denominator,
    c.candidate_numerator,
    c.candidate_denominator,
    c.change,
    c.change_pp,
    c.relative_reduction,
    c.ci_low,
    c.ci_high,
    c.ci_low_pp,
    c.ci_high_pp,
    c.replicates_undefined,
    c.p_value,
    c.p_adjusted,
    c.min_p,
    c.method,
    c.status,
    c.reason,
    c.baseline_recall,
    c.candidate_recall,
    c.baseline_frozen,
    c.candidate_frozen,
    c.n_pairs,
    c.wins,
    c.ties,
    c.losses,
    c.flags
FROM comparisons AS c
