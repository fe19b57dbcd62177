/* ---
name: family_balanced_accuracy
layer: metric
title: Family-balanced accuracy
inputs: [choice_recalls, choice_totals]
grain: [run_id, stratum]
unit: proportion
better: higher
denominator: data
parameters: [failed]
definition: >-
  Per family of tasks the mean recall over the right options that occur in it; then the plain mean of the families. The
  family of a row is its family, else its task.
source: KEV metric parity, "Scope differences"
--- */
WITH
pooled AS (
    SELECT
        run_id, stratum, family, truth_key,
        CAST(sum(hits) AS BIGINT) AS hits,
        CAST(sum(
            CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'excluded' THEN n - n_failed ELSE n END
        ) AS BIGINT) AS n
    FROM choice_recalls
    GROUP BY run_id, stratum, family, truth_key
),
recalls AS (
    SELECT run_id, stratum, family, CAST(hits AS DOUBLE) / CAST(n AS DOUBLE) AS recall
    FROM pooled
    WHERE n > 0
),
families AS (
    SELECT
        run_id, stratum, family,
        CAST(sum(CAST(recall AS DECIMAL(38, 15))) AS DOUBLE) / CAST(count(*) AS DOUBLE) AS recall
    FROM recalls
    GROUP BY run_id, stratum, family
),
balanced AS (
    SELECT
        run_id, stratum,
        CAST(sum(CAST(recall AS DECIMAL(38, 15))) AS DOUBLE) AS recall_sum,
        count(*) AS n_families
    FROM families
    GROUP BY run_id, stratum
)
SELECT
    t.run_id,
    t.stratum,
    b.recall_sum / CAST(b.n_families AS DOUBLE) AS value,
    b.recall_sum AS numerator,
    coalesce(b.n_families, 0) AS denominator,
    t.n AS n_items,
    t.n - t.n_counted AS n_excluded,
    t.n_labelled_failed AS n_failed,
    CASE WHEN b.n_families > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE WHEN b.n_families > 0 THEN NULL ELSE 'no_items' END AS reason
FROM choice_totals AS t
LEFT JOIN balanced AS b ON b.run_id = t.run_id AND b.stratum = t.stratum
WHERE t.has_probabilities
