/* ---
name: answer_outcomes
layer: fact
title: What became of each marked answer
inputs: [answer_marks]
grain: [run_id, item_index]
parameters: [failed]
definition: >-
  Every attempt at every item as it was marked. failed: there is no answer, for a reason that stands beside it. labelled:
  it was marked, or would have been had the model not failed. The attempts at one item are one cluster.
not: Knows nothing of confidence; choice_outcomes does.
reading: With failed = wrong a failed attempt is not correct; with failed = excluded it is neither.
--- */
SELECT
    run_id,
    item_index,
    item_id,
    attempt,
    item_id AS cluster_id,
    task,
    target_digest,
    error IS NOT NULL AS failed,
    error IS NOT NULL OR correct IS NOT NULL AS labelled,
    CASE
        WHEN error IS NULL THEN correct
        WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong' THEN FALSE
    END AS correct
FROM answer_marks
