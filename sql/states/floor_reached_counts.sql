/* ---
name: floor_reached_counts
layer: state
title: Floor events per threshold reached
inputs: [floor_events, operating_levels]
grain: [run_id, fold, stratum, cluster_id, kind, horizon_steps, truncated, threshold]
merge:
  n_positive: sum
  n_negative: sum
  n_censored: sum
  n_invalid: sum
  n_empty_window: sum
poolable: true
parameters: []
definition: >-
  How evaluated candidates ended, by the highest threshold of any wanted recall that their score reaches; threshold is
  null where it reaches none or there is no score.
not: stratum is the event's own, null without annotation; `all` is the sum over it.
--- */
-- Each event meets one level, however many recalls are wanted: events are read once for all that is counted.
SELECT
    e.run_id,
    e.fold,
    e.stratum,
    e.cluster_id,
    e.kind,
    e.horizon_steps,
    e.truncated,
    t.threshold,
    count(*) FILTER (WHERE e.state = 'scored' AND e.outcome) AS n_positive,
    count(*) FILTER (WHERE e.state = 'scored' AND NOT e.outcome) AS n_negative,
    count(*) FILTER (WHERE e.state = 'censored') AS n_censored,
    count(*) FILTER (WHERE e.state = 'invalid') AS n_invalid,
    count(*) FILTER (WHERE e.state = 'empty_window') AS n_empty_window
FROM floor_events AS e
LEFT JOIN operating_levels AS t
    ON t.run_id = e.run_id
    AND t.fold = e.fold
    AND t.kind = e.kind
    AND t.horizon_steps = e.horizon_steps
    AND e.score >= t.threshold
    AND e.score < t.next_threshold
WHERE e.role = 'evaluation'
GROUP BY e.run_id, e.fold, e.stratum, e.cluster_id, e.kind, e.horizon_steps, e.truncated, t.threshold
