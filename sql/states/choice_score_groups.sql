/* ---
name: choice_score_groups
layer: state
title: Ranking by confidence
inputs: [choice_outcomes, choice_strata]
grain: [run_id, stratum, cluster_id, bucket, confidence, item_index]
merge: {n: sum, errors: sum}
parameters: []
materialize: false
definition: >-
  Every labelled answer of a population with its confidence and whether it is wrong. bucket is the 4,096th of confidence
  that choice_score_histogram counts by.
not: Not grouped. Whether equal confidences are accepted together or one row at a time is the protocol's choice.
--- */
SELECT
    o.run_id,
    t.stratum,
    o.cluster_id,
    CAST(floor(o.confidence * 4096) AS SMALLINT) AS bucket,
    o.confidence,
    o.item_index,
    CAST(1 AS BIGINT) AS n,
    CASE WHEN o.correct THEN CAST(0 AS BIGINT) ELSE CAST(1 AS BIGINT) END AS errors
FROM choice_outcomes AS o
JOIN choice_strata AS t ON t.run_id = o.run_id AND t.cell_index = o.cell_index
WHERE o.labelled AND NOT o.failed
