/* ---
name: false_entries_per_minute_at_recall
layer: metric
title: False entries per minute
inputs: [floor_trigger_totals, floor_exposure_counts]
grain: [run_id, stratum, horizon_s, recall]
unit: per_minute
better: lower
denominator: data
parameters: [row_seconds]
definition: >-
  Scored no-response events that trigger at the threshold for the wanted recall, per minute of rows at which one could
  have. Only for data sets with addressee annotation.
not: Not in the source document, which leaves it open.
--- */
WITH
exposures AS (
    SELECT
        run_id, stratum, horizon_s,
        CAST(sum(n_rows) AS DOUBLE)
        * CAST(CAST((SELECT value FROM protocol_parameters WHERE name = 'row_seconds') AS DECIMAL(18, 6)) AS DOUBLE)
        / 60e0 AS minutes
    FROM floor_exposure_counts
    WHERE kind = 'response'
    GROUP BY run_id, stratum, horizon_s
)
SELECT
    t.run_id,
    t.stratum,
    t.horizon_s,
    t.recall,
    CASE
        WHEN t.calibration_positives > 0 AND e.minutes > 0 THEN CAST(t.n_negative_triggered AS DOUBLE) / e.minutes
    END AS value,
    CASE WHEN t.calibration_positives > 0 THEN CAST(t.n_negative_triggered AS DOUBLE) END AS numerator,
    e.minutes AS denominator,
    t.n_candidates AS n_items,
    t.n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN t.calibration_positives > 0 AND e.minutes > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN t.calibration_positives = 0 THEN 'no_calibration_positives'
        WHEN e.minutes > 0 THEN NULL
        ELSE 'no_items'
    END AS reason
FROM floor_trigger_totals AS t
JOIN exposures AS e ON e.run_id = t.run_id AND e.stratum = t.stratum AND e.horizon_s = t.horizon_s
WHERE t.population = 'observed' AND t.kind = 'response'
