/* ---
name: choice_control_counts
layer: state
title: Rows against controls, per cluster
inputs: [choice_controls]
grain: [run_id, stratum, cluster_id]
merge: {n: sum, n_incomplete: sum, n_judged: sum, n_judged_failed: sum, both_correct: sum, n_answered: sum, flipped: sum}
parameters: []
definition: Per cluster, the rows that name a control, those whose control is not there (incomplete), those where both have a right option (judged), the judged ones with a failed side, those with both right, those answered on both sides, and of these those with different predicted keys (flipped).
--- */
SELECT
    run_id,
    'all' AS stratum,
    cluster_id,
    count(*) AS n,
    count(*) FILTER (WHERE incomplete) AS n_incomplete,
    count(*) FILTER (WHERE judged) AS n_judged,
    count(*) FILTER (WHERE judged AND failed) AS n_judged_failed,
    count(*) FILTER (WHERE both_correct) AS both_correct,
    count(*) FILTER (WHERE answered) AS n_answered,
    count(*) FILTER (WHERE flipped) AS flipped
FROM choice_controls
GROUP BY run_id, cluster_id
