/* ---
name: choice_bins
layer: state
title: Confidence bins
inputs: [choice_bin_edges, choice_bins_by_cluster, choice_totals]
grain: [run_id, stratum, bin]
merge: {lo: min, hi: max, n: sum, correct: sum, confidence_sum: sum}
parameters: []
definition: Per population and confidence bin, its edges, the labelled answers, the right ones and the exact sum of confidences. Every bin is there.
not: The bins say more than the calibration error; two rules, or two models, can share one.
source: KEV metric parity, "Method"
--- */
WITH
pooled AS (
    SELECT
        run_id,
        stratum,
        bin,
        CAST(sum(n) AS BIGINT) AS n,
        CAST(sum(correct) AS BIGINT) AS correct,
        CAST(sum(confidence_sum) AS DECIMAL(38, 15)) AS confidence_sum
    FROM choice_bins_by_cluster
    GROUP BY run_id, stratum, bin
)
SELECT
    p.run_id,
    p.stratum,
    e.bin,
    e.lo,
    e.hi,
    coalesce(b.n, 0) AS n,
    coalesce(b.correct, 0) AS correct,
    coalesce(b.confidence_sum, CAST(0 AS DECIMAL(38, 15))) AS confidence_sum
FROM choice_totals AS p
CROSS JOIN choice_bin_edges AS e
LEFT JOIN pooled AS b ON b.run_id = p.run_id AND b.stratum = p.stratum AND b.bin = e.bin
