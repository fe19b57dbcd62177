/* ---
name: choice_outcomes
layer: fact
title: What became of each question
inputs: [choice_answers, choice_cells, choice_confidences, choice_perturbations, choice_questions]
grain: [run_id, item_index]
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
-- One row per question, however many runs brought it. Grouped on the join's own key, the joins to names and to parents
-- vanish from a plan that reads none of their columns.
questions AS (
    SELECT
        dataset_id,
        question_index,
        min(id) AS id,
        min(question) AS question,
        min("group") AS "group",
        min(coalesce(family, task)) AS family,
        min(keys) AS keys,
        min(pair_id) AS pair_id,
        min(sibling) AS sibling,
        min(control_id) AS control_id,
        min(parent) AS parent
    FROM choice_questions
    GROUP BY dataset_id, question_index
),
stability AS (
    SELECT run_id, item_index, min(parent_change) AS parent_change, bool_or(parent_flip) AS parent_flip
    FROM choice_perturbations
    GROUP BY run_id, item_index
),
answered AS (
    SELECT
        run_id, item_index, dataset_id, question_index, cell_index, variant, source, task, type, labelled, label, p,
        p IS NULL AS failed,
        list_max(p) AS confidence,
        list_position(p, list_max(p)) - 1 AS predicted,
        CASE WHEN labelled THEN p[label + 1] END AS p_label
    FROM choice_answers
)
SELECT
    a.run_id,
    a.item_index,
    q.id AS item_id,
    q.question,
    coalesce(q."group", q.id) AS cluster_id,
    a.cell_index,
    a.source,
    a.task,
    a.type,
    a.variant,
    q.family,
    a.failed,
    a.labelled,
    a.confidence,
    CASE
        WHEN NOT a.labelled THEN NULL
        WHEN NOT a.failed THEN a.predicted = a.label
        WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong' THEN FALSE
    END AS correct,
    0.0::DOUBLE - ln(greatest(
        a.p_label, CAST((SELECT value FROM protocol_parameters WHERE name = 'nll_floor') AS DOUBLE))) AS nll,
    -- Rounding may leave less than nothing of the other options' squares.
    greatest(list_inner_product(a.p, a.p) - a.p_label * a.p_label, 0.0) + (1.0 - a.p_label) * (1.0 - a.p_label) AS brier,
    CASE WHEN a.type = 'score' AND a.labelled
        THEN abs(list_inner_product(a.p, range(len(a.p))::DOUBLE[]) - a.label) END AS score_error,
    CASE WHEN a.type = 'score' AND a.labelled
        THEN list_sum(list_transform(range(1, len(a.p)), lambda k:
            (list_sum(a.p[1:k]) - CASE WHEN k > a.label THEN 1.0 ELSE 0.0 END)
            * (list_sum(a.p[1:k]) - CASE WHEN k > a.label THEN 1.0 ELSE 0.0 END))) / (len(a.p) - 1) END AS rps,
    q.keys[a.predicted + 1] AS predicted_key,
    CASE WHEN a.labelled THEN q.keys[a.label + 1] END AS truth_key,
    q.pair_id,
    q.sibling,
    q.control_id,
    q.parent,
    s.parent_change,
    s.parent_flip
FROM answered AS a
LEFT JOIN questions AS q ON q.dataset_id = a.dataset_id AND q.question_index = a.question_index
LEFT JOIN stability AS s ON s.run_id = a.run_id AND s.item_index = a.item_index
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
    c.task AS family,
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
    CAST(NULL AS VARCHAR) AS predicted_key,
    CAST(NULL AS VARCHAR) AS truth_key,
    CAST(NULL AS VARCHAR) AS pair_id,
    CAST(NULL AS VARCHAR) AS sibling,
    CAST(NULL AS VARCHAR) AS control_id,
    CAST(NULL AS VARCHAR) AS parent,
    CAST(NULL AS DOUBLE) AS parent_change,
    CAST(NULL AS BOOLEAN) AS parent_flip
FROM choice_confidences AS g
JOIN choice_cells AS c ON c.run_id = g.run_id AND c.cell_index = g.cell_index
