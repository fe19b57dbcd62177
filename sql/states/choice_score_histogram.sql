/* ---
name: choice_score_histogram
layer: state
title: Coarse ranking by confidence
inputs: [choice_score_groups, choice_strata]
grain: [run_id, stratum, bucket]
merge: {n: sum, errors: sum}
split: {choice_probabilities: question_index, choice_confidences: item_index, choice_outcomes: question_index}
parameters: []
definition: Per population and 1,000th of confidence, the labelled answers and the wrong ones, over all clusters. It says which buckets a rank metric has to look into row by row.
not: Never the last word on a rank; a bucket holds many confidences.
--- */
WITH
cells AS (
    SELECT run_id, cell_index, bucket, CAST(sum(n) AS BIGINT) AS n, CAST(sum(errors) AS BIGINT) AS errors
    FROM choice_score_groups
    GROUP BY run_id, cell_index, bucket
)
SELECT
    c.run_id,
    t.stratum,
    c.bucket,
    CAST(sum(c.n) AS BIGINT) AS n,
    CAST(sum(c.errors) AS BIGINT) AS errors
FROM cells AS c
JOIN choice_strata AS t ON t.run_id = c.run_id AND t.cell_index = c.cell_index
GROUP BY c.run_id, t.stratum, c.bucket
