/* ---
name: choice_scale_sums
layer: state
title: Sums over questions of type score
inputs: [choice_outcomes, choice_strata]
grain: [run_id, stratum, cluster_id]
merge: {n: sum, n_labelled: sum, n_labelled_failed: sum, score_error_sum: sum, rps_sum: sum}
split: {choice_probabilities: question_index, choice_confidences: item_index, choice_outcomes: question_index}
parameters: []
poolable: true
definition: Per population and cluster, the questions of type score, the labelled ones, those of them on which the model failed, and the sums of both ordinal losses over the answered ones.
--- */
WITH
cells AS (
    SELECT
        run_id,
        cell_index,
        cluster_id,
        count(*) AS n,
        count(*) FILTER (WHERE labelled) AS n_labelled,
        count(*) FILTER (WHERE labelled AND failed) AS n_labelled_failed,
        coalesce(sum(CAST(score_error AS DECIMAL(38, 15))), CAST(0 AS DECIMAL(38, 15))) AS score_error_sum,
        coalesce(sum(CAST(rps AS DECIMAL(38, 15))), CAST(0 AS DECIMAL(38, 15))) AS rps_sum
    FROM choice_outcomes
    WHERE type = 'score' AND question_index IS NOT NULL
    GROUP BY run_id, cell_index, cluster_id
)
SELECT
    c.run_id,
    t.stratum,
    c.cluster_id,
    CAST(sum(c.n) AS BIGINT) AS n,
    CAST(sum(c.n_labelled) AS BIGINT) AS n_labelled,
    CAST(sum(c.n_labelled_failed) AS BIGINT) AS n_labelled_failed,
    CAST(sum(c.score_error_sum) AS DECIMAL(38, 15)) AS score_error_sum,
    CAST(sum(c.rps_sum) AS DECIMAL(38, 15)) AS rps_sum
FROM cells AS c
JOIN choice_strata AS t ON t.run_id = c.run_id AND t.cell_index = c.cell_index
GROUP BY c.run_id, t.stratum, c.cluster_id
