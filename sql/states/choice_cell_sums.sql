/* ---
name: choice_cell_sums
layer: state
title: Sums per cell of questions, cluster and confidence
inputs: [choice_terms]
grain: [run_id, cell_index, cluster_id, labelled, bin, zone]
merge: {n: sum, hits: sum, confidence_sum: sum, nll_sum: sum, brier_sum: sum}
split: {choice_probabilities: question_index, choice_confidences: item_index, choice_outcomes: question_index}
parameters: [bin_rule, n_bins]
poolable: true
definition: >-
  The outcomes added up once. bin: of the calibration error, from 0, over the edges linspace(0, 1, n + 1); left_closed
  is [lo, hi) with the last closed, right_closed (lo, hi] with the first closed, truncated int(c x n). zone: 0 below a
  confidence of 0.9, then 1, 2 and 3 from 0.9, 0.95 and 0.99 on. Both are -1 where the model failed.
not: Populations overlap, cells do not; rows are added up per cell and spread over populations afterwards.
source: KEV metric parity, "Method"
--- */
WITH
guessed AS (
    SELECT
        run_id, cell_index, cluster_id, labelled, correct, confidence, nll, brier,
        CAST((SELECT value FROM protocol_parameters WHERE name = 'n_bins') AS DOUBLE) AS n_bins,
        CAST(1 AS DOUBLE) / CAST((SELECT value FROM protocol_parameters WHERE name = 'n_bins') AS DOUBLE) AS width,
        floor(confidence * CAST((SELECT value FROM protocol_parameters WHERE name = 'n_bins') AS DOUBLE)) AS guess
    FROM choice_terms
),
-- The product is rounded, so the guess may be one bin off; the edges themselves decide. least() and greatest() stand only
-- where the guess is off, which is seldom.
binned AS (
    SELECT
        run_id, cell_index, cluster_id, labelled, correct, confidence, nll, brier,
        coalesce(CAST(
            CASE (SELECT value FROM protocol_parameters WHERE name = 'bin_rule')
                WHEN 'left_closed' THEN
                    CASE
                        WHEN confidence < guess * width THEN greatest(CAST(0 AS DOUBLE), guess - 1)
                        WHEN confidence >= (guess + 1) * width THEN least(n_bins - 1, guess + 1)
                        WHEN guess >= n_bins THEN n_bins - 1
                        ELSE guess
                    END
                WHEN 'right_closed' THEN
                    CASE
                        WHEN confidence <= guess * width THEN greatest(CAST(0 AS DOUBLE), guess - 1)
                        WHEN confidence > (guess + 1) * width THEN least(n_bins - 1, guess + 1)
                        WHEN guess >= n_bins THEN n_bins - 1
                        ELSE guess
                    END
                WHEN 'truncated' THEN CASE WHEN guess >= n_bins THEN n_bins - 1 ELSE guess END
            END
        AS SMALLINT), CAST(-1 AS SMALLINT)) AS bin,
        CASE
            WHEN confidence < CAST(0.9 AS DOUBLE) THEN CAST(0 AS SMALLINT)
            WHEN confidence < CAST(0.95 AS DOUBLE) THEN CAST(1 AS SMALLINT)
            WHEN confidence < CAST(0.99 AS DOUBLE) THEN CAST(2 AS SMALLINT)
            WHEN confidence IS NULL THEN CAST(-1 AS SMALLINT)
            ELSE CAST(3 AS SMALLINT)
        END AS zone
    FROM guessed
)
SELECT
    run_id,
    cell_index,
    cluster_id,
    labelled,
    bin,
    zone,
    count(*) AS n,
    count(*) FILTER (WHERE correct) AS hits,
    -- Every term is below 1000 (the least nll_floor is 1e-300), and 18 digits are cheaper to add up than 38.
    CAST(coalesce(sum(CAST(confidence AS DECIMAL(18, 15))), 0) AS DECIMAL(38, 15)) AS confidence_sum,
    CAST(coalesce(sum(CAST(nll AS DECIMAL(18, 15))), 0) AS DECIMAL(38, 15)) AS nll_sum,
    CAST(coalesce(sum(CAST(brier AS DECIMAL(18, 15))), 0) AS DECIMAL(38, 15)) AS brier_sum
FROM binned
GROUP BY run_id, cell_index, cluster_id, labelled, bin, zone
