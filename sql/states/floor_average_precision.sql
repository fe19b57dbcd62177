/* ---
name: floor_average_precision
layer: state
title: Average precision of floor events
inputs: [floor_score_groups]
grain: [run_id, population, stratum, kind, horizon_s]
merge: {n_positive: sum, n_negative: sum, n_excluded: sum, n_censored: sum}
parameters: []
definition: >-
  Step average precision of scored events, outcomes against the rest: the sum over falling scores of recall gained x
  precision, equal scores taken together. Null without positives.
not: The value does not add up over shards; the counts do. It follows from floor_score_groups.
--- */
WITH
populations AS (
    SELECT
        run_id, 'observed' AS population, stratum, kind, horizon_s, score,
        n_positive, n_negative, n_excluded, n_censored
    FROM floor_score_groups
    UNION ALL
    SELECT
        run_id, 'full_horizon' AS population, stratum, kind, horizon_s, score,
        n_positive_full_horizon, n_negative_full_horizon, n_excluded_full_horizon, 0 AS n_censored
    FROM floor_score_groups
),
tied AS (
    SELECT
        run_id, population, stratum, kind, horizon_s, score,
        CAST(sum(n_positive) AS BIGINT) AS n_positive,
        CAST(sum(n_negative) AS BIGINT) AS n_negative,
        CAST(sum(n_excluded) AS BIGINT) AS n_excluded,
        CAST(sum(n_censored) AS BIGINT) AS n_censored
    FROM populations
    GROUP BY run_id, population, stratum, kind, horizon_s, score
),
accepted AS (
    -- The null score comes last and holds neither positives nor negatives, so it adds nothing.
    SELECT
        run_id, population, stratum, kind, horizon_s, n_positive, n_negative, n_excluded, n_censored,
        sum(n_positive) OVER (
            PARTITION BY run_id, population, stratum, kind, horizon_s
            ORDER BY score DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS hits,
        sum(n_positive + n_negative) OVER (
            PARTITION BY run_id, population, stratum, kind, horizon_s
            ORDER BY score DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS taken
    FROM tied
),
summed AS (
    SELECT
        run_id, population, stratum, kind, horizon_s,
        CAST(sum(n_positive) AS BIGINT) AS n_positive,
        CAST(sum(n_negative) AS BIGINT) AS n_negative,
        CAST(sum(n_excluded) AS BIGINT) AS n_excluded,
        CAST(sum(n_censored) AS BIGINT) AS n_censored,
        sum(CASE
            WHEN n_positive > 0 THEN CAST(
                CAST(n_positive AS DOUBLE) * CAST(hits AS DOUBLE) / CAST(taken AS DOUBLE) AS DECIMAL(38, 15)
            )
        END) AS area
    FROM accepted
    GROUP BY run_id, population, stratum, kind, horizon_s
)
SELECT
    run_id,
    population,
    stratum,
    kind,
    horizon_s,
    n_positive,
    n_negative,
    n_excluded,
    n_censored,
    CASE WHEN n_positive > 0 THEN CAST(area AS DOUBLE) / CAST(n_positive AS DOUBLE) END AS average_precision
FROM summed
