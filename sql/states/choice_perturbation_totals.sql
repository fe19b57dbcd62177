/* ---
name: choice_perturbation_totals
layer: state
title: Perturbation stability of a run
inputs: [choice_cells, choice_perturbation_sums]
grain: [run_id, stratum]
merge: {n: sum, n_failed: sum, n_matched: sum, change_sum: sum, largest_change: max, flipped: sum}
parameters: []
definition: The perturbation sums over all clusters. Stratum all is there for every run, if only with zeros.
--- */
WITH
populations AS (
    SELECT run_id, 'all' AS stratum FROM choice_cells WHERE has_probabilities
    UNION
    SELECT s.run_id, s.stratum
    FROM choice_perturbation_sums AS s
    JOIN choice_cells AS c ON c.run_id = s.run_id AND c.has_probabilities
)
SELECT
    p.run_id,
    p.stratum,
    CAST(coalesce(sum(s.n), 0) AS BIGINT) AS n,
    CAST(coalesce(sum(s.n_failed), 0) AS BIGINT) AS n_failed,
    CAST(coalesce(sum(s.n_matched), 0) AS BIGINT) AS n_matched,
    CAST(coalesce(sum(s.change_sum), CAST(0 AS DECIMAL(38, 15))) AS DECIMAL(38, 15)) AS change_sum,
    max(s.largest_change) AS largest_change,
    CAST(coalesce(sum(s.flipped), 0) AS BIGINT) AS flipped
FROM populations AS p
LEFT JOIN choice_perturbation_sums AS s ON s.run_id = p.run_id AND s.stratum = p.stratum
GROUP BY p.run_id, p.stratum
