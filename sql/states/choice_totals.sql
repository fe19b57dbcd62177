/* ---
name: choice_totals
layer: state
title: Sums per population
inputs: [choice_cells, choice_sums]
grain: [run_id, stratum]
merge: {n: sum, n_failed: sum, n_sure: sum, confidence_sum: sum, n_labelled: sum, n_labelled_failed: sum, hits: sum, labelled_confidence_sum: sum, nll_sum: sum, brier_sum: sum, n_from_90: sum, hits_from_90: sum, n_from_95: sum, hits_from_95: sum, n_from_99: sum, hits_from_99: sum}
parameters: [failed]
definition: >-
  The sums of a population over its clusters, and the denominators that follow: n_counted, the labelled rows that count
  for label metrics (failed ones among them unless failed = excluded); n_present, likewise of all rows; n_answered, the
  labelled rows with a confidence. has_probabilities: metrics that need more than confidence exist. all, clean, headline and unknowable are there for every run, if only with zeros.
--- */
WITH
runs_seen AS (
    SELECT run_id, bool_or(has_probabilities) AS has_probabilities FROM choice_cells GROUP BY run_id
),
populations AS (
    SELECT run_id, stratum FROM choice_sums
    UNION
    SELECT run_id, 'all' AS stratum FROM runs_seen
    UNION
    SELECT run_id, 'clean' AS stratum FROM runs_seen
    UNION
    SELECT run_id, 'headline' AS stratum FROM runs_seen
    UNION
    SELECT run_id, 'unknowable' AS stratum FROM runs_seen
),
pooled AS (
    SELECT
        p.run_id,
        p.stratum,
        CAST(coalesce(sum(s.n), 0) AS BIGINT) AS n,
        CAST(coalesce(sum(s.n_failed), 0) AS BIGINT) AS n_failed,
        CAST(coalesce(sum(s.n_sure), 0) AS BIGINT) AS n_sure,
        CAST(coalesce(sum(s.confidence_sum), CAST(0 AS DECIMAL(38, 15))) AS DECIMAL(38, 15)) AS confidence_sum,
        CAST(coalesce(sum(s.n_labelled), 0) AS BIGINT) AS n_labelled,
        CAST(coalesce(sum(s.n_labelled_failed), 0) AS BIGINT) AS n_labelled_failed,
        CAST(coalesce(sum(s.hits), 0) AS BIGINT) AS hits,
        CAST(coalesce(sum(s.labelled_confidence_sum), CAST(0 AS DECIMAL(38, 15))) AS DECIMAL(38, 15)) AS labelled_confidence_sum,
        CAST(coalesce(sum(s.nll_sum), CAST(0 AS DECIMAL(38, 15))) AS DECIMAL(38, 15)) AS nll_sum,
        CAST(coalesce(sum(s.brier_sum), CAST(0 AS DECIMAL(38, 15))) AS DECIMAL(38, 15)) AS brier_sum,
        CAST(coalesce(sum(s.n_from_90), 0) AS BIGINT) AS n_from_90,
        CAST(coalesce(sum(s.hits_from_90), 0) AS BIGINT) AS hits_from_90,
        CAST(coalesce(sum(s.n_from_95), 0) AS BIGINT) AS n_from_95,
        CAST(coalesce(sum(s.hits_from_95), 0) AS BIGINT) AS hits_from_95,
        CAST(coalesce(sum(s.n_from_99), 0) AS BIGINT) AS n_from_99,
        CAST(coalesce(sum(s.hits_from_99), 0) AS BIGINT) AS hits_from_99
    FROM populations AS p
    LEFT JOIN choice_sums AS s ON s.run_id = p.run_id AND s.stratum = p.stratum
    GROUP BY p.run_id, p.stratum
)
SELECT
    p.run_id,
    p.stratum,
    n,
    n_failed,
    n_sure,
    confidence_sum,
    n_labelled,
    n_labelled_failed,
    hits,
    labelled_confidence_sum,
    nll_sum,
    brier_sum,
    n_from_90,
    hits_from_90,
    n_from_95,
    hits_from_95,
    n_from_99,
    hits_from_99,
    CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong'
        THEN n ELSE n - n_failed END AS n_present,
    CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong'
        THEN n_labelled ELSE n_labelled - n_labelled_failed END AS n_counted,
    n_labelled - n_labelled_failed AS n_answered,
    r.has_probabilities
FROM pooled AS p
JOIN runs_seen AS r ON r.run_id = p.run_id
