/* ---
name: choice_recalls
layer: state
title: Hits per family and right option
inputs: [choice_named_answers, choice_strata]
grain: [run_id, stratum, cluster_id, family, truth_key]
merge: {n: sum, n_failed: sum, hits: sum}
split: {choice_probabilities: question_index, choice_questions: question_index, choice_confidences: item_index, choice_outcomes: question_index}
parameters: []
poolable: true
definition: Per population, cluster, family of tasks and right option, the labelled rows, those on which the model failed, and the right answers. Rows without family and task are a family of their own, named by the empty text.
--- */
WITH
cells AS (
    SELECT
        run_id,
        cell_index,
        cluster_id,
        coalesce(family, '') AS family,
        truth_key,
        count(*) AS n,
        count(*) FILTER (WHERE failed) AS n_failed,
        count(*) FILTER (WHERE correct) AS hits
    FROM choice_named_answers
    WHERE labelled AND truth_key IS NOT NULL
    GROUP BY run_id, cell_index, cluster_id, coalesce(family, ''), truth_key
)
SELECT
    c.run_id,
    t.stratum,
    c.cluster_id,
    c.family,
    c.truth_key,
    CAST(sum(c.n) AS BIGINT) AS n,
    CAST(sum(c.n_failed) AS BIGINT) AS n_failed,
    CAST(sum(c.hits) AS BIGINT) AS hits
FROM cells AS c
JOIN choice_strata AS t ON t.run_id = c.run_id AND t.cell_index = c.cell_index
GROUP BY c.run_id, t.stratum, c.cluster_id, c.family, c.truth_key
