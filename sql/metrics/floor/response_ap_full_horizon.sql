/* ---
name: response_ap_full_horizon
layer: metric
title: Response average precision, full horizon
inputs: [floor_average_precision]
grain: [run_id, stratum, horizon_s]
unit: proportion
better: higher
denominator: data
parameters: []
secondary: true
definition: >-
  Step average precision of the scored responses against the scored no-response events: the sum over falling scores of
  recall gained x precision, equal scores taken together. Only candidates whose whole horizon lies inside their
  recording.
not: Free of any threshold; it does not replace error rates at an operating point.
--- */
SELECT
    run_id,
    stratum,
    horizon_s,
    average_precision AS value,
    CAST(NULL AS DOUBLE) AS numerator,
    n_positive AS denominator,
    n_positive + n_negative + n_excluded AS n_items,
    n_excluded,
    CAST(0 AS BIGINT) AS n_failed,
    CASE WHEN n_positive > 0 THEN 'ok' ELSE 'undefined' END AS status,
    CASE
        WHEN n_positive > 0 THEN NULL
        WHEN n_positive + n_negative + n_excluded = 0 THEN 'no_items'
        WHEN n_positive + n_negative = 0 AND n_censored = n_excluded THEN 'all_censored'
        ELSE 'no_positives'
    END AS reason
FROM floor_average_precision
WHERE population = 'full_horizon' AND kind = 'response'
