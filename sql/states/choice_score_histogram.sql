/* ---
name: choice_score_histogram
layer: state
title: Coarse ranking by confidence
inputs: [choice_cell_sums, choice_strata]
grain: [run_id, stratum, cluster_id, bucket]
merge: {n: sum, errors: sum}
parameters: []
definition: Per population, cluster and 1,000th of confidence, the labelled answers and the wrong ones. It says which buckets a rank metric has to look into row by row.
not: Never the last word on a rank; a bucket holds many confidences.
--- */
SELECT
    s.run_id,
    t.stratum,
    s.cluster_id,
    s.bucket,
    CAST(sum(s.n) AS BIGINT) AS n,
    CAST(sum(s.n - s.hits) AS BIGINT) AS errors
FROM choice_cell_sums AS s
JOIN choice_strata AS t ON t.run_id = s.run_id AND t.cell_index = s.cell_index
WHERE s.labelled AND s.bin >= 0
GROUP BY s.run_id, t.stratum, s.cluster_id, s.bucket
