/* ---
name: choice_task_losses
layer: state
title: Losses per task and cluster
inputs: [choice_cell_sums, choice_cells]
grain: [run_id, stratum, cluster_id, task]
merge: {n: sum, n_labelled: sum, n_labelled_failed: sum, nll_sum: sum}
parameters: []
definition: Per task and cluster, the clean rows, the labelled ones, those of them on which the model failed, and the sum of the nll over the answered ones. Rows without a task are a task of their own, named by the empty text.
--- */
SELECT
    s.run_id,
    'all' AS stratum,
    s.cluster_id,
    coalesce(c.task, '') AS task,
    CAST(sum(s.n) AS BIGINT) AS n,
    CAST(sum(CASE WHEN s.labelled THEN s.n ELSE 0 END) AS BIGINT) AS n_labelled,
    CAST(sum(CASE WHEN s.labelled AND s.bin < 0 THEN s.n ELSE 0 END) AS BIGINT) AS n_labelled_failed,
    CAST(sum(s.nll_sum) AS DECIMAL(38, 15)) AS nll_sum
FROM choice_cell_sums AS s
JOIN choice_cells AS c ON c.run_id = s.run_id AND c.cell_index = s.cell_index
WHERE c.variant = 'clean'
GROUP BY s.run_id, s.cluster_id, coalesce(c.task, '')
