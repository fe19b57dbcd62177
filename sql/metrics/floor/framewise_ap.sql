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
tied AS (
    SELECT
        run_id, stratum, horizon_s, score,
        CAST(sum(n_positive) AS BIGINT) AS n_positive,
        CAST(sum(n_negative) AS BIGINT) AS n_negative,
        CAST(sum(n_excluded) AS BIGINT) AS n_excluded
    FROM floor_frame_groups
    GROUP BY run_id, stratum, horizon_s, score
),
accepted AS (
    -- The null score comes last and holds neither positives nor negatives, so it adds nothing.
    SELECT
        run_id, stratum, horizon_s, n_positive, n_negative, n_excluded,
        sum(n_positive) OVER (
            PARTITION BY run_id, stratum, horizon_s
            ORDER BY score DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS hits,
        sum(n_positive + n_negative) OVER (
            PARTITION BY run_id, stratum, horizon_s
            ORDER BY score DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS taken
    FROM tied
),
summed AS (
    SELECT
        run_id, stratum, horizon_s,
        CAST(sum(n_positive) AS BIGINT) AS n_positive,
        CAST(sum(n_positive + n_negative + n_excluded) AS BIGINT) AS n_items,
        CAST(sum(n_excluded) AS BIGINT) AS n_excluded,
        sum(CASE
            WHEN n_positive > 0 THEN CAST(
                CAST(n_positive AS DOUBLE) * CAST(hits AS DOUBLE) / CAST(taken AS DOUBLE) AS DECIMAL(38, 15)
            )
        END) AS area
    FROM accepted
    GROUP BY run_id, stratum, horizon_s
)
SELECT
    run_id,
    stratum,
    horizon_s,
    CASE WHEN n_positive > 0 THEN CAST(area AS DOUBLE) / CAST(n_positive AS DOUBLE) END AS value,
    CAST(NULL AS DOUBLE) AS numerator,
    n_positive AS denominator,
    n_items,
    n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN n_positive > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN n_positive > 0 THEN NULL
        WHEN n_items = n_excluded THEN 'no_items'
        ELSE 'no_positives'
    END AS reason
FROM summed
