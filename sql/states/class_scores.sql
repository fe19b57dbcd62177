/* ---
name: class_scores
layer: state
title: Scores of each class
inputs: [class_counts_by_cluster, class_vocabulary]
grain: [run_id, stratum, class_index]
merge: {items: sum, failed: sum, hits: sum, support: sum, predicted: sum}
parameters: [failed]
definition: One row for every class of the vocabulary in every stratum, with zeros where nobody did it and nobody was given it. support is the windows of the class that count; failed = wrong counts a failed window as a miss of its true class, failed = excluded leaves it out. precision = hits / predicted and recall = hits / support, null where the denominator is 0; F1 = 2TP / (2TP + FP + FN) = 2 hits / (support + predicted), 0 where the denominator is 0.
not: precision, recall and f1 are not mergeable; they follow from the sums.
source: WISP, "Evaluation and result authority"
--- */
WITH
vocabulary AS (
    SELECT run_id, class_index FROM class_vocabulary
),
-- Stratum 'all' exists for every run, so that a run without windows has rows that say so.
strata AS (
    SELECT run_id, stratum FROM class_counts_by_cluster
    UNION
    SELECT run_id, 'all' AS stratum FROM vocabulary
),
counts AS (
    SELECT
        run_id, stratum, class_index,
        sum(items) AS items,
        sum(failed) AS failed,
        sum(hits) AS hits,
        sum(CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'excluded' THEN items - failed
                 ELSE items END) AS support,
        sum(predicted) AS predicted
    FROM class_counts_by_cluster
    GROUP BY run_id, stratum, class_index
),
classes AS (
    SELECT
        s.run_id, s.stratum, v.class_index,
        CAST(coalesce(c.items, 0) AS BIGINT) AS items,
        CAST(coalesce(c.failed, 0) AS BIGINT) AS failed,
        CAST(coalesce(c.hits, 0) AS BIGINT) AS hits,
        CAST(coalesce(c.support, 0) AS BIGINT) AS support,
        CAST(coalesce(c.predicted, 0) AS BIGINT) AS predicted
    FROM strata AS s
    JOIN vocabulary AS v ON v.run_id = s.run_id
    LEFT JOIN counts AS c ON c.run_id = s.run_id AND c.stratum = s.stratum AND c.class_index = v.class_index
)
SELECT
    run_id,
    stratum,
    class_index,
    items,
    failed,
    hits,
    support,
    predicted,
    CASE WHEN predicted > 0 THEN CAST(hits AS DOUBLE) / CAST(predicted AS DOUBLE) END AS precision,
    CASE WHEN support > 0 THEN CAST(hits AS DOUBLE) / CAST(support AS DOUBLE) END AS recall,
    CASE WHEN support + predicted > 0 THEN CAST(2 * hits AS DOUBLE) / CAST(support + predicted AS DOUBLE)
         ELSE CAST(0 AS DOUBLE) END AS f1
FROM classes
