/* ---
name: operating_points
layer: calibration
title: Operating points
inputs: [floor_events, floor_folds, floor_recalls, floor_horizons]
grain: [run_id, fold, kind, horizon_steps, recall]
parameters: [calibration_mode, calibration_sessions, decision_timing, threshold_rule]
definition: >-
  The threshold for a wanted recall q: the ceil(q x P)-th largest score of the P scored positive calibration events of
  that run, fold, kind and horizon. Null without positives. q is an exact fraction, so the rank has no round-off.
not: The recall reached on the evaluated sessions may differ from q; it is a result of its own.
source: EasyCom floor events, "Confirmatory test command"
--- */
WITH
ranked AS (
    SELECT
        run_id, fold, kind, horizon_steps, score,
        row_number() OVER (PARTITION BY run_id, fold, kind, horizon_steps ORDER BY score DESC NULLS LAST) AS position,
        count(*) OVER (PARTITION BY run_id, fold, kind, horizon_steps) AS n_positives
    FROM floor_events
    WHERE role = 'calibration' AND state = 'scored' AND outcome
),
wanted AS (
    SELECT DISTINCT f.run_id, f.fold, h.kind, h.horizon_steps, h.horizon_s, q.recall, q.numerator, q.denominator
    FROM floor_folds AS f
    JOIN floor_recalls AS q ON q.run_id = f.run_id
    CROSS JOIN floor_horizons AS h
)
SELECT
    w.run_id,
    w.fold,
    w.kind,
    (SELECT value FROM protocol_parameters WHERE name = 'decision_timing') AS decision_timing,
    w.horizon_steps,
    w.horizon_s,
    w.recall,
    max(r.score) AS threshold,
    coalesce(max(r.n_positives), 0) AS n_positives,
    (SELECT value FROM protocol_parameters WHERE name = 'calibration_mode') AS mode,
    (SELECT value FROM protocol_parameters WHERE name = 'threshold_rule') AS threshold_rule,
    (SELECT value FROM protocol_parameters WHERE name = 'calibration_sessions') AS calibration_sessions
FROM wanted AS w
LEFT JOIN ranked AS r
    ON r.run_id = w.run_id
    AND r.fold = w.fold
    AND r.kind = w.kind
    AND r.horizon_steps = w.horizon_steps
    -- position = ceil(q x P), in integers
    AND r.position * w.denominator >= w.numerator * r.n_positives
    AND (r.position - 1) * w.denominator < w.numerator * r.n_positives
GROUP BY w.run_id, w.fold, w.kind, w.horizon_steps, w.horizon_s, w.recall
