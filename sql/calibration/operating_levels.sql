/* ---
name: operating_levels
layer: calibration
title: Steps between operating points
inputs: [operating_points]
grain: [run_id, fold, kind, horizon_steps, threshold]
parameters: []
definition: >-
  The thresholds of all wanted recalls in order, each once, with the next higher one: a score reaches threshold and not
  next_threshold on one of them at most. next_threshold is 2 above the highest, since no score is above 1.
--- */
SELECT
    run_id,
    fold,
    kind,
    horizon_steps,
    threshold,
    coalesce(
        lead(threshold) OVER (PARTITION BY run_id, fold, kind, horizon_steps ORDER BY threshold NULLS LAST), 2e0
    ) AS next_threshold
FROM (
    SELECT DISTINCT run_id, fold, kind, horizon_steps, threshold FROM operating_points WHERE threshold IS NOT NULL
) AS thresholds
