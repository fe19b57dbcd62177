/* ---
name: choice_perturbation_sums
layer: state
title: Perturbation stability per cluster
inputs: [choice_outcomes, choice_perturbations]
grain: [run_id, stratum, cluster_id]
merge: {n: sum, n_failed: sum, n_matched: sum, change_sum: sum, largest_change: max, flipped: sum}
parameters: []
poolable: true
definition: Per cluster, over all perturbed rows and over those of each variant, the rows, those on which the model failed, those set beside their parent (matched), and of these the sum and the largest of the changes and the flipped predictions.
--- */
WITH
perturbed AS (
    SELECT o.run_id, o.variant, o.cluster_id, o.failed, p.parent_change, p.parent_flip
    FROM choice_outcomes AS o
    LEFT JOIN choice_perturbations AS p ON p.run_id = o.run_id AND p.item_index = o.item_index
    WHERE o.variant <> 'clean'
),
placed AS (
    SELECT run_id, 'all' AS stratum, cluster_id, failed, parent_change, parent_flip FROM perturbed
    UNION ALL
    SELECT run_id, 'variant=' || variant AS stratum, cluster_id, failed, parent_change, parent_flip FROM perturbed
)
SELECT
    run_id,
    stratum,
    cluster_id,
    count(*) AS n,
    count(*) FILTER (WHERE failed) AS n_failed,
    count(parent_change) AS n_matched,
    coalesce(sum(CAST(parent_change AS DECIMAL(38, 15))), CAST(0 AS DECIMAL(38, 15))) AS change_sum,
    max(parent_change) AS largest_change,
    count(*) FILTER (WHERE parent_flip) AS flipped
FROM placed
GROUP BY run_id, stratum, cluster_id
