/* ---
name: choice_pair_counts
layer: state
title: Contrastive pairs per cluster
inputs: [choice_pairs]
grain: [run_id, stratum, cluster_id, kind, failed]
merge: {n: sum, changed: sum, held: sum, both_correct: sum}
parameters: []
definition: Per cluster and kind (relevant, invariant, incomplete), the pairs, those whose predicted keys differ, those whose predicted keys are the same, and those with both sides right; pairs with a side on which the model failed apart.
--- */
SELECT
    run_id,
    'all' AS stratum,
    cluster_id,
    kind,
    failed,
    count(*) AS n,
    count(*) FILTER (WHERE changed) AS changed,
    count(*) FILTER (WHERE held) AS held,
    count(*) FILTER (WHERE both_correct) AS both_correct
FROM choice_pairs
GROUP BY run_id, cluster_id, kind, failed
