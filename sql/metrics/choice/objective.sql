/* ---
name: objective
layer: metric
title: Task-macro objective
inputs: [choice_task_losses, choice_totals]
grain: [run_id, stratum]
unit: nats
better: higher
denominator: data
parameters: []
definition: Minus the plain mean over tasks of the nll of their clean, labelled, answered questions. A task without one is left out.
--- */
WITH
tasks AS (
    SELECT
        run_id,
        task,
        CAST(sum(n_labelled - n_labelled_failed) AS BIGINT) AS n_answered,
        CAST(sum(nll_sum) AS DOUBLE) AS nll_sum
    FROM choice_task_losses
    GROUP BY run_id, task
),
means AS (
    SELECT run_id, nll_sum / CAST(n_answered AS DOUBLE) AS nll FROM tasks WHERE n_answered > 0
),
pooled AS (
    SELECT
        run_id,
        CAST(sum(CAST(nll AS DECIMAL(38, 15))) AS DOUBLE) AS nll_sum,
        count(*) AS n_tasks
    FROM means
    GROUP BY run_id
)
SELECT
    t.run_id,
    'all' AS stratum,
    CASE WHEN p.n_tasks > 0 THEN CAST(0 AS DOUBLE) - p.nll_sum / CAST(p.n_tasks AS DOUBLE) END AS value,
    CAST(0 AS DOUBLE) - p.nll_sum AS numerator,
    coalesce(p.n_tasks, 0) AS denominator,
    t.n AS n_items,
    t.n - t.n_answered AS n_excluded,
    t.n_labelled_failed AS n_failed,
    CASE WHEN p.n_tasks > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN p.n_tasks > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals AS t
LEFT JOIN pooled AS p ON p.run_id = t.run_id
WHERE t.stratum = 'clean' AND t.has_probabilities
