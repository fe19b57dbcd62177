/* ---
name: choice_cell_sums
layer: state
title: Sums per cell of questions, cluster and confidence
inputs: [choice_outcomes]
grain: [run_id, cell_index, cluster_id, labelled, failed, bin, zone, bucket]
merge: {n: sum, hits: sum, confidence_sum: sum, nll_sum: sum, brier_sum: sum}
parameters: [bin_rule, n_bins]
definition: >-
  One pass over the outcomes. bin: of the calibration error, from 0. zone: 0 below a confidence of 0.9, then 1, 2 and 3
  from 0.9, 0.95 and 0.99 on. bucket: 4,096ths of confidence, a coarse order for ranking. Answers without confidence
  have bin, zone and bucket -1. Bin rules, over the edges linspace(0, 1, n + 1): left_closed [lo, hi) with the last
  closed; right_closed (lo, hi] with the first closed; truncated int(c x n).
not: Populations overlap, cells do not; rows are added up once and spread over populations afterwards.
source: KEV metric parity, "Method"
--- */
WITH
placed AS (
    SELECT
        run_id, cell_index, cluster_id, labelled, failed, correct, confidence, nll, brier,
        CAST((SELECT value FROM protocol_parameters WHERE name = 'n_bins') AS DOUBLE) AS n_bins,
        (SELECT value FROM protocol_parameters WHERE name = 'bin_rule') AS bin_rule,
        floor(confidence * CAST((SELECT value FROM protocol_parameters WHERE name = 'n_bins') AS DOUBLE)) AS guess
    FROM choice_outcomes
),
-- The product is rounded, so the guess may be one bin off; the edges themselves decide.
binned AS (
    SELECT
        run_id, cell_index, cluster_id, labelled, failed, correct, confidence, nll, brier, n_bins,
        CASE bin_rule
            WHEN 'left_closed' THEN
                CASE
                    WHEN confidence < guess * (CAST(1 AS DOUBLE) / n_bins) THEN guess - 1
                    WHEN confidence >= (guess + 1) * (CAST(1 AS DOUBLE) / n_bins) THEN guess + 1
                    ELSE guess
                END
            WHEN 'right_closed' THEN
                CASE
                    WHEN confidence <= guess * (CAST(1 AS DOUBLE) / n_bins) THEN guess - 1
                    WHEN confidence > (guess + 1) * (CAST(1 AS DOUBLE) / n_bins) THEN guess + 1
                    ELSE guess
                END
            WHEN 'truncated' THEN guess
        END AS bin
    FROM placed
),
grouped AS (
    SELECT
        run_id, cell_index, cluster_id, labelled, failed, correct, confidence, nll, brier,
        CASE WHEN failed THEN CAST(-1 AS SMALLINT)
             ELSE CAST(greatest(least(bin, n_bins - 1), CAST(0 AS DOUBLE)) AS SMALLINT) END AS bin,
        CASE
            WHEN failed THEN CAST(-1 AS SMALLINT)
            WHEN confidence >= CAST(0.99 AS DOUBLE) THEN CAST(3 AS SMALLINT)
            WHEN confidence >= CAST(0.95 AS DOUBLE) THEN CAST(2 AS SMALLINT)
            WHEN confidence >= CAST(0.9 AS DOUBLE) THEN CAST(1 AS SMALLINT)
            ELSE CAST(0 AS SMALLINT)
        END AS zone,
        CASE WHEN failed THEN CAST(-1 AS SMALLINT) ELSE CAST(floor(confidence * 4096) AS SMALLINT) END AS bucket
    FROM binned
)
SELECT
    run_id,
    cell_index,
    cluster_id,
    labelled,
    failed,
    bin,
    zone,
    bucket,
    count(*) AS n,
    count(*) FILTER (WHERE correct) AS hits,
    coalesce(sum(CAST(confidence AS DECIMAL(38, 15))), CAST(0 AS DECIMAL(38, 15))) AS confidence_sum,
    coalesce(sum(CAST(nll AS DECIMAL(38, 15))), CAST(0 AS DECIMAL(38, 15))) AS nll_sum,
    coalesce(sum(CAST(brier AS DECIMAL(38, 15))), CAST(0 AS DECIMAL(38, 15))) AS brier_sum
FROM grouped
GROUP BY run_id, cell_index, cluster_id, labelled, failed, bin, zone, bucket
