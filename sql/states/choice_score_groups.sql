/* ---
name: choice_score_groups
layer: state
title: Ranking by confidence
inputs: [choice_terms]
grain: [run_id, cell_index, cluster_id, bucket, confidence, item_index]
merge: {n: sum, errors: sum}
parameters: []
materialize: false
poolable: true
definition: Every labelled answer with its cell of questions, its confidence and whether it is wrong. bucket is the 1,000th of confidence that choice_score_histogram counts by.
not: Not grouped. Whether equal confidences are accepted together or one row at a time is the protocol's choice.
--- */
SELECT
    run_id,
    cell_index,
    cluster_id,
    CAST(floor(confidence * 1000) AS SMALLINT) AS bucket,
    confidence,
    item_index,
    CAST(1 AS BIGINT) AS n,
    CASE WHEN correct THEN CAST(0 AS BIGINT) ELSE CAST(1 AS BIGINT) END AS errors
FROM choice_terms
WHERE labelled AND confidence IS NOT NULL
