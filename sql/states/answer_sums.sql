/* ---
name: answer_sums
layer: state
title: Marked answers per population and cluster
inputs: [answer_outcomes]
grain: [run_id, stratum, cluster_id]
merge: {n: sum, n_failed: sum, n_labelled: sum, hits: sum}
parameters: []
definition: >-
  Per population and cluster, the attempts, the failed ones, those that were marked or failed (labelled), and those marked
  right (hits). all: every attempt. task=T: those of one task; where some have a task and others none, the others are in
  `task=`, so that the tasks add up.
--- */
WITH
tasks AS (
    SELECT run_id, count(task) AS n FROM answer_outcomes GROUP BY run_id
),
placed AS (
    SELECT run_id, 'all' AS stratum, cluster_id, failed, labelled, correct FROM answer_outcomes
    UNION ALL
    SELECT o.run_id, 'task=' || coalesce(o.task, '') AS stratum, o.cluster_id, o.failed, o.labelled, o.correct
    FROM answer_outcomes AS o
    JOIN tasks AS t ON t.run_id = o.run_id
    WHERE t.n > 0
)
SELECT
    run_id,
    stratum,
    cluster_id,
    count(*) AS n,
    CAST(sum(CASE WHEN failed THEN 1 ELSE 0 END) AS BIGINT) AS n_failed,
    CAST(sum(CASE WHEN labelled THEN 1 ELSE 0 END) AS BIGINT) AS n_labelled,
    CAST(sum(CASE WHEN correct THEN 1 ELSE 0 END) AS BIGINT) AS hits
FROM placed
GROUP BY run_id, stratum, cluster_id
