/* ---
name: choice_bins_by_cluster
layer: state
title: Confidence bins per cluster
inputs: [choice_cell_sums, choice_strata]
grain: [run_id, stratum, cluster_id, bin]
merge: {n: sum, correct: sum, confidence_sum: sum}
parameters: []
definition: Per population, cluster and confidence bin, the labelled answers, the right ones and the exact sum of confidences. Bins without an answer have no row.
--- */
SELECT
    s.run_id,
    t.stratum,
    s.cluster_id,
    s.bin,
    CAST(sum(s.n) AS BIGINT) AS n,
    CAST(sum(s.hits) AS BIGINT) AS correct,
    CAST(sum(s.confidence_sum) AS DECIMAL(38, 15)) AS confidence_sum
FROM choice_cell_sums AS s
JOIN choice_strata AS t ON t.run_id = s.run_id AND t.cell_index = s.cell_index
WHERE s.labelled AND s.bin >= 0
GROUP BY s.run_id, t.stratum, s.cluster_id, s.bin
