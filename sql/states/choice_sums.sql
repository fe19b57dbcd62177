/* ---
name: choice_sums
layer: state
title: Sums per population and cluster
inputs: [choice_cell_sums, choice_strata]
grain: [run_id, stratum, cluster_id]
merge: {n: sum, n_failed: sum, n_sure: sum, confidence_sum: sum, n_labelled: sum, n_labelled_failed: sum, hits: sum, labelled_confidence_sum: sum, nll_sum: sum, brier_sum: sum, n_from_90: sum, hits_from_90: sum, n_from_95: sum, hits_from_95: sum, n_from_99: sum, hits_from_99: sum}
parameters: []
definition: >-
  Per population and cluster: rows, failed rows, rows with a confidence of at least 0.9 (sure) and the sum of confidences;
  of the labelled ones their number, the failed and the right ones, and the sums of confidence and losses over the
  answered ones; and how many labelled answers have a confidence from 0.9, 0.95 and 0.99 on, and are right.
not: Unlabelled rows count in n, n_failed, n_sure and confidence_sum alone.
--- */
WITH
spread AS (
    SELECT
        s.run_id,
        t.stratum,
        s.cluster_id,
        s.labelled,
        s.bin < 0 AS failed,
        s.zone,
        s.n,
        s.hits,
        s.confidence_sum,
        s.nll_sum,
        s.brier_sum
    FROM choice_cell_sums AS s
    JOIN choice_strata AS t ON t.run_id = s.run_id AND t.cell_index = s.cell_index
)
SELECT
    run_id,
    stratum,
    cluster_id,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(CASE WHEN failed THEN n ELSE 0 END) AS BIGINT) AS n_failed,
    CAST(sum(CASE WHEN zone >= 1 THEN n ELSE 0 END) AS BIGINT) AS n_sure,
    CAST(sum(confidence_sum) AS DECIMAL(38, 15)) AS confidence_sum,
    CAST(sum(CASE WHEN labelled THEN n ELSE 0 END) AS BIGINT) AS n_labelled,
    CAST(sum(CASE WHEN labelled AND failed THEN n ELSE 0 END) AS BIGINT) AS n_labelled_failed,
    CAST(sum(hits) AS BIGINT) AS hits,
    CAST(sum(CASE WHEN labelled THEN confidence_sum ELSE CAST(0 AS DECIMAL(38, 15)) END) AS DECIMAL(38, 15))
        AS labelled_confidence_sum,
    CAST(sum(nll_sum) AS DECIMAL(38, 15)) AS nll_sum,
    CAST(sum(brier_sum) AS DECIMAL(38, 15)) AS brier_sum,
    CAST(sum(CASE WHEN labelled AND zone >= 1 THEN n ELSE 0 END) AS BIGINT) AS n_from_90,
    CAST(sum(CASE WHEN labelled AND zone >= 1 THEN hits ELSE 0 END) AS BIGINT) AS hits_from_90,
    CAST(sum(CASE WHEN labelled AND zone >= 2 THEN n ELSE 0 END) AS BIGINT) AS n_from_95,
    CAST(sum(CASE WHEN labelled AND zone >= 2 THEN hits ELSE 0 END) AS BIGINT) AS hits_from_95,
    CAST(sum(CASE WHEN labelled AND zone >= 3 THEN n ELSE 0 END) AS BIGINT) AS n_from_99,
    CAST(sum(CASE WHEN labelled AND zone >= 3 THEN hits ELSE 0 END) AS BIGINT) AS hits_from_99
FROM spread
GROUP BY run_id, stratum, cluster_id
