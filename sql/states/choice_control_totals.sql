/* ---
name: choice_control_totals
layer: state
title: Rows against controls, of a run
inputs: [choice_cells, choice_control_counts]
grain: [run_id, stratum]
merge: {n: sum, n_incomplete: sum, n_matched: sum, n_judged: sum, n_judged_failed: sum, n_counted: sum, both_correct: sum, n_answered: sum, flipped: sum}
parameters: [failed]
definition: The control counts over all clusters. n_matched, rows whose control is there; n_counted, judged rows, without those with a failed side under failed = excluded. There for every run, if only with zeros.
--- */
WITH
runs_seen AS (
    SELECT run_id FROM choice_cells WHERE has_probabilities
    UNION
    SELECT run_id FROM choice_control_counts
),
pooled AS (
    SELECT
        r.run_id,
        CAST(coalesce(sum(c.n), 0) AS BIGINT) AS n,
        CAST(coalesce(sum(c.n_incomplete), 0) AS BIGINT) AS n_incomplete,
        CAST(coalesce(sum(c.n_judged), 0) AS BIGINT) AS n_judged,
        CAST(coalesce(sum(c.n_judged_failed), 0) AS BIGINT) AS n_judged_failed,
        CAST(coalesce(sum(c.both_correct), 0) AS BIGINT) AS both_correct,
        CAST(coalesce(sum(c.n_answered), 0) AS BIGINT) AS n_answered,
        CAST(coalesce(sum(c.flipped), 0) AS BIGINT) AS flipped
    FROM runs_seen AS r
    LEFT JOIN choice_control_counts AS c ON c.run_id = r.run_id
    GROUP BY r.run_id
)
SELECT
    run_id,
    'all' AS stratum,
    n,
    n_incomplete,
    n - n_incomplete AS n_matched,
    n_judged,
    n_judged_failed,
    CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'excluded'
        THEN n_judged - n_judged_failed ELSE n_judged END AS n_counted,
    both_correct,
    n_answered,
    flipped
FROM pooled
