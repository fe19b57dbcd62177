/* ---
name: choice_outcomes
layer: fact
title: What became of each question
inputs: [choice_answers, choice_cells, choice_confidences]
grain: [run_id, item_index]
split: {choice_probabilities: question_index, choice_confidences: item_index}
parameters: [failed, nll_floor]
materialize: false
definition: >-
  Per question: the largest probability (confidence), whether the first option that has it is the right one (correct)
  and the losses against the right option. nll: -ln(max(p[label], nll_floor)). brier: sum over options of the squared
  difference to the one-hot truth, 0 to 2. For type score, score_error: |expected level - label|, and rps: mean over the
  K - 1 thresholds of the squared difference of the cumulated probabilities. Runs that kept only confidence and
  correctness enter here, without losses.
not: brier is the class-sum form, twice the one-probability form for two options. rps is the mean over K - 1, not the sum.
source: KEV metric parity, "Method"
reading: >-
  With failed = wrong a labelled question on which the model failed is not correct; with failed = excluded it is neither. It
  never has a confidence or a loss.
--- */
WITH
answered AS (
    SELECT
        run_id, item_index, item_id, question, cluster_id, cell_index, source, task, type, variant, dataset_id,
        question_index, label, p,
        list_max(p) AS confidence,
        list_position(p, list_max(p)) - 1 AS predicted,
        p[label + 1] AS p_label
    FROM choice_answers
)
SELECT
    run_id,
    item_index,
    item_id,
    question,
    cluster_id,
    cell_index,
    source,
    task,
    type,
    variant,
    p IS NULL AS failed,
    label IS NOT NULL AS labelled,
    confidence,
    CASE
        -- Only where the right option has the largest probability does it matter which of the equal ones comes first.
        WHEN p_label < confidence THEN FALSE
        WHEN p IS NOT NULL THEN list_position(p, confidence) = label + 1
        WHEN label IS NOT NULL AND (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong' THEN FALSE
    END AS correct,
    -- Not greatest(), which passes over nulls: a question without an answer or a label would be given the floor.
    0.0::DOUBLE - ln(
        CASE
            WHEN p_label < CAST((SELECT value FROM protocol_parameters WHERE name = 'nll_floor') AS DOUBLE)
                THEN CAST((SELECT value FROM protocol_parameters WHERE name = 'nll_floor') AS DOUBLE)
            ELSE p_label
        END
    ) AS nll,
    -- Rounding may leave less than nothing of the other options' squares.
    greatest(list_inner_product(p, p) - p_label * p_label, 0.0::DOUBLE)
        + (1.0::DOUBLE - p_label) * (1.0::DOUBLE - p_label) AS brier,
    CASE WHEN type = 'score' AND label IS NOT NULL
        THEN abs(list_inner_product(p, range(len(p))::DOUBLE[]) - label) END AS score_error,
    CASE WHEN type = 'score' AND label IS NOT NULL
        THEN list_sum(list_transform(range(1, len(p)), lambda k:
            (list_sum(p[1:k]) - CASE WHEN k > label THEN 1.0::DOUBLE ELSE 0.0::DOUBLE END)
            * (list_sum(p[1:k]) - CASE WHEN k > label THEN 1.0::DOUBLE ELSE 0.0::DOUBLE END))) / (len(p) - 1) END AS rps,
    dataset_id,
    question_index,
    label,
    CAST(predicted AS SMALLINT) AS predicted
FROM answered
UNION ALL
SELECT
    g.run_id,
    g.item_index,
    g.item_id,
    g.question,
    coalesce(g."group", g.item_id) AS cluster_id,
    g.cell_index,
    c.source,
    c.task,
    c.type,
    c.variant,
    g.confidence IS NULL AS failed,
    g.correct IS NOT NULL AND coalesce(c.source, '') <> 'unknowable' AS labelled,
    g.confidence,
    CASE
        WHEN coalesce(c.source, '') = 'unknowable' THEN NULL
        WHEN g.confidence IS NOT NULL THEN g.correct
        WHEN g.correct IS NOT NULL AND (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong' THEN FALSE
    END AS correct,
    CAST(NULL AS DOUBLE) AS nll,
    CAST(NULL AS DOUBLE) AS brier,
    CAST(NULL AS DOUBLE) AS score_error,
    CAST(NULL AS DOUBLE) AS rps,
    CAST(NULL AS VARCHAR) AS dataset_id,
    CAST(NULL AS BIGINT) AS question_index,
    CAST(NULL AS SMALLINT) AS label,
    CAST(NULL AS SMALLINT) AS predicted
FROM choice_confidences AS g
JOIN choice_cells AS c ON c.run_id = g.run_id AND c.cell_index = g.cell_index
