/* ---
name: framewise_ap
layer: metric
title: Framewise average precision
inputs: [floor_frame_groups]
grain: [run_id, stratum, horizon_s]
unit: proportion
better: higher
denominator: data
parameters: []
secondary: true
definition: >-
  Step average precision of the wearer's speaking in a row against the forecast made for it one horizon earlier in the
  same recording, equal forecasts taken together.
not: The older endpoint diagnostic; it knows no events and no competing outcome.
source: EasyCom floor events, "How to decide whether errors decreased"
--- */
WITH
-- One integer to partition by instead of columns of text and doubles: most of the time goes into the windows.
rankings AS (
    SELECT
        run_id, stratum, horizon_s,
        CAST(row_number() OVER (
            ORDER BY run_id NULLS LAST, stratum NULLS LAST, horizon_s NULLS LAST
        ) AS INTEGER) AS ranking
    FROM (SELECT DISTINCT run_id, stratum, horizon_s FROM floor_frame_groups) AS named
),
tied AS (
    SELECT
        r.ranking, g.score,
        CAST(sum(g.n_positive) AS BIGINT) AS n_positive,
        CAST(sum(g.n_negative) AS BIGINT) AS n_negative,
        CAST(sum(g.n_excluded) AS BIGINT) AS n_excluded
    FROM floor_frame_groups AS g
    JOIN rankings AS r ON r.run_id = g.run_id AND r.stratum = g.stratum AND r.horizon_s = g.horizon_s
    GROUP BY r.ranking, g.score
),
accepted AS (
    -- The null score comes last and holds neither positives nor negatives, so it adds nothing.
    -- Running counts as doubles: whole numbers are exact there up to 2^53, and the whole takes a third less time.
    SELECT
        ranking, n_positive, n_negative, n_excluded,
        sum(CAST(n_positive AS DOUBLE)) OVER (
            PARTITION BY ranking ORDER BY score DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS hits,
        sum(CAST(n_positive + n_negative AS DOUBLE)) OVER (
            PARTITION BY ranking ORDER BY score DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS taken
    FROM tied
),
summed AS (
    SELECT
        ranking,
        CAST(sum(n_positive) AS BIGINT) AS n_positive,
        CAST(sum(n_positive + n_negative + n_excluded) AS BIGINT) AS n_items,
        CAST(sum(n_excluded) AS BIGINT) AS n_excluded,
        sum(CASE
            WHEN n_positive > 0 THEN CAST(
                CAST(n_positive AS DOUBLE) * CAST(hits AS DOUBLE) / CAST(taken AS DOUBLE) AS DECIMAL(38, 15)
            )
        END) AS area
    FROM accepted
    GROUP BY ranking
)
SELECT
    r.run_id,
    r.stratum,
    r.horizon_s,
    CASE WHEN s.n_positive > 0 THEN CAST(s.area AS DOUBLE) / CAST(s.n_positive AS DOUBLE) END AS value,
    CAST(NULL AS DOUBLE) AS numerator,
    s.n_positive AS denominator,
    s.n_items,
    s.n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN s.n_positive > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN s.n_positive > 0 THEN NULL
        WHEN s.n_items = s.n_excluded THEN 'no_items'
        ELSE 'no_positives'
    END AS reason
FROM summed AS s
JOIN rankings AS r ON r.ranking = s.ranking
