/* ---
name: choice_answers
layer: fact
title: Answers
inputs: [choice_probabilities, choice_cells]
grain: [run_id, item_index]
parameters: [temperature]
materialize: false
definition: >-
  The probabilities of each question at the protocol's temperature: z = ln(max(p, 1e-9)) / temperature, then softmax. At
  temperature 1 they are the probabilities as stored. A question of the source unknowable has no right option.
reading: Temperature 1 leaves the stored probabilities untouched, exact zeros included.
--- */
WITH
placed AS (
    SELECT
        a.run_id, a.item_index, a.item_id, a.question, a.cluster_id, a.dataset_id, a.question_index, a.cell_index, a.label,
        c.variant, c.source, c.task, c.type, a.p,
        CAST((SELECT value FROM protocol_parameters WHERE name = 'temperature') AS DOUBLE) AS temperature
    FROM choice_probabilities AS a
    JOIN choice_cells AS c ON c.run_id = a.run_id AND c.cell_index = a.cell_index
),
scaled AS (
    SELECT
        run_id, item_index, item_id, question, cluster_id, dataset_id, question_index, cell_index, label,
        variant, source, task, type, p, temperature,
        -- Relative to the largest, so that the sum of powers is at least 1 at any temperature.
        CASE WHEN temperature <> 1.0::DOUBLE
            THEN list_transform(p, lambda x: exp(
                (ln(greatest(x, 1e-9::DOUBLE)) - ln(greatest(list_max(p), 1e-9::DOUBLE))) / temperature)) END AS powers
    FROM placed
)
SELECT
    run_id,
    item_index,
    item_id,
    question,
    cluster_id,
    dataset_id,
    question_index,
    cell_index,
    variant,
    source,
    task,
    type,
    CASE WHEN coalesce(source, '') <> 'unknowable' THEN label END AS label,
    CASE WHEN temperature = 1.0::DOUBLE THEN p
         -- Added from the smallest up: the same probabilities in another order of options stay tied.
         ELSE list_transform(powers, lambda x: x / list_sum(list_sort(powers))) END AS p
FROM scaled
