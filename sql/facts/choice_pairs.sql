/* ---
name: choice_pairs
layer: fact
title: Contrastive pairs
inputs: [choice_named_answers]
grain: [run_id, pair_id, question]
parameters: []
definition: >-
  The clean rows that share a pair_id, per question. relevant: the right options differ, by name. invariant: they are
  equal. incomplete: there are not two labelled rows. changed, held: both sides were answered, with different keys, or
  with the same.
not: Options are compared by key, never by position. An unanswered side neither flips nor holds.
source: KEV metric parity, "Method"
reading: The pair belongs to the cluster of the side that sorts first.
--- */
SELECT
    run_id,
    pair_id,
    question,
    min(cluster_id) AS cluster_id,
    CASE
        WHEN count(*) <> 2 OR count(truth_key) <> 2 THEN 'incomplete'
        WHEN min(truth_key) <> max(truth_key) THEN 'relevant'
        ELSE 'invariant'
    END AS kind,
    count(predicted_key) = 2 AND min(predicted_key) <> max(predicted_key) AS changed,
    count(predicted_key) = 2 AND min(predicted_key) = max(predicted_key) AS held,
    count(*) FILTER (WHERE correct) = 2 AS both_correct,
    bool_or(failed) AS failed
FROM choice_named_answers
WHERE variant = 'clean' AND pair_id IS NOT NULL
GROUP BY run_id, pair_id, question
