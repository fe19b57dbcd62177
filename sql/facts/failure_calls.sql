/* ---
name: failure_calls
layer: fact
title: Failure calls
inputs: [progress_own_traces]
grain: [run_id, step, trajectory_index]
materialize: false
split: {progress_features: trajectory_index}
parameters: [constant_window, failed, final_clause, final_limit, rule_joins, window, window_pearson_limit]
definition: >-
  Each trajectory, asked about its own task: whether its windows of five predictions and its final prediction call it a
  failure, which window did, and whether it is one. Fewer than five predictions: the window clause is false.
not: Not a probability threshold that was tuned; the limits are the protocol's.
source: Robometer frozen evaluation, "IND failure detection" and "OOD failure detection"
reading: >-
  A constant window has correlation 0 (`constant_window: zero`), or none and never fires (`never_fires`).
  `window: any` lets one window fire the clause, `last` reads the last window only. Correlations are compared as integer
  multiples of 1e-12; at limit 0 the numerator is, whose sign is that of the correlation but which no root has rounded.
  With `failed: wrong` a trajectory on which the model failed is called the opposite of the truth.
--- */
WITH
limits AS (
    SELECT CAST(round_even(CAST((SELECT value FROM protocol_parameters WHERE name = 'window_pearson_limit') AS DOUBLE)
                           * 1e12, 0) AS BIGINT) AS window_units
),
compared AS (
    SELECT
        run_id, step, trajectory_index, trajectory_id, task, outcome, status, final_progress, final_success_probability,
        window_pearson,
        outcome = 'failure' AS is_failure,
        len(window_pearson) AS n_windows,
        (SELECT window_units FROM limits) AS window_units,
        CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'constant_window') = 'zero'
             THEN CAST(0 AS DOUBLE) END AS constant_value,
        CASE WHEN (SELECT window_units FROM limits) = 0 THEN window_trend ELSE window_pearson END AS windows
    FROM progress_own_traces
),
fired AS (
    SELECT
        run_id, step, trajectory_index, trajectory_id, task, outcome, final_progress, final_success_probability,
        window_pearson, is_failure, status, n_windows,
        CASE (SELECT value FROM protocol_parameters WHERE name = 'window')
            WHEN 'any' THEN
                list_position(
                    list_transform(
                        windows,
                        lambda w: CAST(round_even(coalesce(w, constant_value) * 1e12, 0) AS BIGINT) <= window_units),
                    TRUE)
            WHEN 'last' THEN
                CASE WHEN CAST(round_even(coalesce(windows[-1], constant_value) * 1e12, 0) AS BIGINT) <= window_units
                     THEN n_windows END
        END AS position,
        CASE (SELECT value FROM protocol_parameters WHERE name = 'final_clause')
            WHEN 'success_probability_at_most' THEN final_success_probability
            WHEN 'progress_below' THEN final_progress
        END AS final_value
    FROM compared
),
clauses AS (
    SELECT
        run_id, step, trajectory_index, trajectory_id, task, outcome, is_failure, status, n_windows,
        final_success_probability, window_pearson, position, final_value,
        coalesce(position, 0) > 0 AS window_fired,
        CASE (SELECT value FROM protocol_parameters WHERE name = 'final_clause')
            WHEN 'success_probability_at_most' THEN
                final_value <= CAST((SELECT value FROM protocol_parameters WHERE name = 'final_limit') AS DOUBLE)
            WHEN 'progress_below' THEN
                final_value < CAST((SELECT value FROM protocol_parameters WHERE name = 'final_limit') AS DOUBLE)
        END AS final_fired
    FROM fired
)
SELECT
    run_id,
    step,
    trajectory_index,
    trajectory_id,
    task,
    outcome,
    status,
    is_failure,
    CASE
        WHEN status = 'failed' AND (SELECT value FROM protocol_parameters WHERE name = 'failed') = 'wrong'
            THEN NOT is_failure
        WHEN status <> 'scored' THEN CAST(NULL AS BOOLEAN)
        WHEN (SELECT value FROM protocol_parameters WHERE name = 'rule_joins') = 'and' THEN window_fired AND final_fired
        ELSE window_fired OR final_fired
    END AS called_failure,
    status = 'failed' AS failed,
    n_windows > 0 AS has_window,
    n_windows,
    CASE WHEN status = 'scored' THEN window_fired END AS window_fired,
    CASE WHEN status = 'scored' AND window_fired THEN CAST(position - 1 AS BIGINT) END AS fired_window,
    CASE WHEN status = 'scored' AND window_fired THEN coalesce(window_pearson[position], 0.0) END AS fired_window_pearson,
    CASE WHEN status = 'scored' THEN final_fired END AS final_fired,
    CASE WHEN status = 'scored' THEN final_value END AS final_value,
    CASE
        WHEN status = 'failed' THEN 'model_failed'
        WHEN status <> 'scored' THEN CAST(NULL AS VARCHAR)
        WHEN window_fired AND final_fired THEN 'window_and_final'
        WHEN window_fired THEN 'window'
        WHEN final_fired THEN 'final'
        ELSE 'neither'
    END AS because,
    CASE WHEN status = 'scored' THEN 1.0 - final_success_probability END AS failure_score
FROM clauses
