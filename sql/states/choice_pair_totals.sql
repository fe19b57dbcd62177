/* ---
name: choice_pair_totals
layer: state
title: Contrastive pairs of a run
inputs: [choice_cells, choice_pair_counts]
grain: [run_id, stratum, kind]
merge: {n: sum, n_failed: sum, n_counted: sum, changed: sum, held: sum, both_correct: sum}
parameters: [failed]
definition: The pairs of each kind, over all clusters. n_counted leaves out pairs with a failed side under failed = excluded. Every kind is there, if only with zeros.
--- */
WITH
kinds AS (
    SELECT DISTINCT run_id, 'relevant' AS kind FROM choice_cells WHERE has_probabilities
    UNION
    SELECT DISTINCT run_id, 'invariant' AS kind FROM choice_cells WHERE has_probabilities
    UNION
    SELECT DISTINCT run_id, 'incomplete' AS kind FROM choice_cells WHERE has_probabilities
    UNION
    SELECT run_id, kind FROM choice_pair_counts
)
SELECT
    k.run_id,
    'all' AS stratum,
    k.kind,
    CAST(coalesce(sum(c.n), 0) AS BIGINT) AS n,
    CAST(coalesce(sum(CASE WHEN c.failed THEN c.n ELSE 0 END), 0) AS BIGINT) AS n_failed,
    CAST(coalesce(sum(
        CASE
            WHEN c.failed AND (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'excluded' THEN 0
            ELSE c.n
        END
    ), 0) AS BIGINT) AS n_counted,
    CAST(coalesce(sum(c.changed), 0) AS BIGINT) AS changed,
    CAST(coalesce(sum(c.held), 0) AS BIGINT) AS held,
    CAST(coalesce(sum(c.both_correct), 0) AS BIGINT) AS both_correct
FROM kinds AS k
LEFT JOIN choice_pair_counts AS c ON c.run_id = k.run_id AND c.kind = k.kind
GROUP BY k.run_id, k.kind
