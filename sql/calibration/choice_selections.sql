/* ---
name: choice_selections
layer: calibration
title: The most confident part of a population
inputs: [choice_score_groups, choice_score_histogram, choice_strata, choice_totals]
grain: [run_id, stratum, fraction]
parameters: []
definition: >-
  cutoff: the max(1, ceil(f n))-th largest confidence among the n labelled questions that count. accepted, errors: the
  answers that reach it and those of them that are wrong, ties included. Where failed questions leave fewer confidences
  than that, the smallest one.
not: Absent where no labelled question has a confidence.
source: KEV metric parity, "Method"
--- */
WITH
fractions AS (
    SELECT '0.5' AS fraction, 1 AS taken, 2 AS per
    UNION ALL
    SELECT '0.8' AS fraction, 4 AS taken, 5 AS per
),
wanted AS (
    SELECT
        t.run_id, t.stratum, f.fraction,
        least(
            t.n_answered,
            greatest(1, CAST(floor(CAST(t.n_counted * f.taken + f.per - 1 AS DOUBLE) / CAST(f.per AS DOUBLE)) AS BIGINT))
        ) AS place
    FROM choice_totals AS t
    CROSS JOIN fractions AS f
    WHERE t.n_answered > 0
),
stacked AS (
    SELECT
        run_id, stratum, bucket, n, errors,
        sum(n) OVER (
            PARTITION BY run_id, stratum ORDER BY bucket DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS n_to_end,
        sum(errors) OVER (
            PARTITION BY run_id, stratum ORDER BY bucket DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS errors_to_end
    FROM choice_score_histogram
),
opened AS (
    SELECT
        w.run_id, w.stratum, w.fraction, w.place, s.bucket,
        s.n_to_end - s.n AS n_above,
        s.errors_to_end - s.errors AS errors_above
    FROM wanted AS w
    JOIN stacked AS s ON s.run_id = w.run_id AND s.stratum = w.stratum
    WHERE s.n_to_end >= w.place AND s.n_to_end - s.n < w.place
),
points AS (
    SELECT
        o.run_id, o.stratum, o.fraction, o.place, o.n_above, o.errors_above, g.confidence,
        CAST(sum(g.n) AS BIGINT) AS n,
        CAST(sum(g.errors) AS BIGINT) AS errors
    FROM opened AS o
    JOIN choice_strata AS t ON t.run_id = o.run_id AND t.stratum = o.stratum
    JOIN choice_score_groups AS g ON g.run_id = t.run_id AND g.cell_index = t.cell_index AND g.bucket = o.bucket
    GROUP BY o.run_id, o.stratum, o.fraction, o.place, o.n_above, o.errors_above, g.confidence
),
reached AS (
    SELECT
        run_id, stratum, fraction, place, confidence, n,
        n_above + sum(n) OVER (
            PARTITION BY run_id, stratum, fraction ORDER BY confidence DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS accepted,
        errors_above + sum(errors) OVER (
            PARTITION BY run_id, stratum, fraction ORDER BY confidence DESC NULLS LAST ROWS UNBOUNDED PRECEDING
        ) AS errors
    FROM points
)
SELECT
    run_id,
    stratum,
    fraction,
    confidence AS cutoff,
    CAST(accepted AS BIGINT) AS accepted,
    CAST(errors AS BIGINT) AS errors
FROM reached
WHERE accepted >= place AND accepted - n < place
