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
rankings AS (
    SELECT
        run_id, stratum, kind, horizon_s,
        CAST(row_number() OVER (
            ORDER BY run_id NULLS LAST, stratum NULLS LAST, kind NULLS LAST, horizon_s NULLS LAST
        ) AS INTEGER) AS ranking
    FROM (SELECT DISTINCT run_id, stratum, kind, horizon_s FROM floor_score_groups) AS named
),
-- Equal scores of all clusters are one term, which is rounded once, however the events are clustered. One integer to
-- partition by instead of four columns of text and doubles: most of the time goes into the windows.
ranked AS (
    SELECT
        r.ranking, g.score,
        CAST(sum(g.n_positive) AS BIGINT) AS n_positive,
        CAST(sum(g.n_negative) AS BIGINT) AS n_negative,
        CAST(sum(g.n_excluded) AS BIGINT) AS n_excluded,
        CAST(sum(g.n_censored) AS BIGINT) AS n_censored,
        CAST(sum(g.n_positive_full_horizon) AS BIGINT) AS n_positive_full_horizon,
        CAST(sum(g.n_negative_full_horizon) AS BIGINT) AS n_negative_full_horizon,
        CAST(sum(g.n_excluded_full_horizon) AS BIGINT) AS n_excluded_full_horizon
    FROM floor_score_groups AS g
    JOIN rankings AS r
        ON r.run_id = g.run_id AND r.stratum = g.stratum AND r.kind = g.kind AND r.horizon_s = g.horizon_s
    GROUP BY r.ranking, g.score
),
-- The null score comes last and holds neither positives nor negatives.
-- Running counts as doubles: whole numbers are exact there up to 2^53, and the whole takes a third less time.
accepted AS (
    SELECT
        ranking, n_positive, n_negative, n_excluded, n_censored,
        n_positive_full_horizon, n_negative_full_horizon, n_excluded_full_horizon,
        sum(CAST(n_positive AS DOUBLE)) OVER (
            PARTITION BY ranking ORDER BY score DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS hits,
        sum(CAST(n_positive + n_negative AS DOUBLE)) OVER (
            PARTITION BY ranking ORDER BY score DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS taken,
        sum(CAST(n_positive_full_horizon AS DOUBLE)) OVER (
            PARTITION BY ranking ORDER BY score DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS hits_full_horizon,
        sum(CAST(n_positive_full_horizon + n_negative_full_horizon AS DOUBLE)) OVER (
            PARTITION BY ranking ORDER BY score DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS taken_full_horizon
    FROM ranked
),
summed AS (
    SELECT
        ranking, 'observed' AS population,
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
    GROUP BY ranking
    UNION ALL
    -- A whole horizon is never censored.
    SELECT
        ranking, 'full_horizon' AS population,
        CAST(sum(n_positive_full_horizon) AS BIGINT) AS n_positive,
        CAST(sum(n_negative_full_horizon) AS BIGINT) AS n_negative,
        CAST(sum(n_excluded_full_horizon) AS BIGINT) AS n_excluded,
        CAST(0 AS BIGINT) AS n_censored,
        sum(CASE
            WHEN n_positive_full_horizon > 0 THEN CAST(
                CAST(n_positive_full_horizon AS DOUBLE) * CAST(hits_full_horizon AS DOUBLE)
                / CAST(taken_full_horizon AS DOUBLE) AS DECIMAL(38, 15)
            )
        END) AS area
    FROM accepted
    GROUP BY ranking
)
SELECT
    r.run_id,
    s.population,
    r.stratum,
    r.kind,
    r.horizon_s,
    s.n_positive,
    s.n_negative,
    s.n_excluded,
    s.n_censored,
    CASE WHEN s.n_positive > 0 THEN CAST(s.area AS DOUBLE) / CAST(s.n_positive AS DOUBLE) END AS average_precision
FROM summed AS s
JOIN rankings AS r ON r.ranking = s.ranking
