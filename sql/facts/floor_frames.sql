/* ---
name: floor_frames
layer: fact
title: Forecast frames
inputs: [floor_words, floor_forecasts, floor_roles, floor_recordings, floor_horizons]
grain: [run_id, session_index, row, horizon_steps]
parameters: []
definition: >-
  Every evaluated row with the forecast that was made for it 1 to n_horizons rows earlier in the same recording. score
  is null where that forecast is not valid.
not: Endpoint diagnostic only; says nothing about who was to speak or about competing outcomes.
--- */
WITH
-- Beside the word that follows: a row's next states come with it, without a search.
followed AS (
    SELECT
        dataset_id, session_index, word, wearer,
        coalesce(lead(wearer) OVER (PARTITION BY dataset_id, session_index ORDER BY word), 0) AS next_wearer
    FROM floor_words
),
-- Bit k of ahead is the wearer's state k rows on; no horizon is longer than 10 rows.
forecasts AS (
    SELECT
        o.run_id, o.cluster_id, f.session_index, f.row, o.last_row, f.p_wearer, f.valid,
        (w.wearer >> (f.row % 60)) | CASE
            WHEN f.row % 60 >= 50 THEN (w.next_wearer & 1023) << (60 - f.row % 60)
            ELSE 0
        END AS ahead
    FROM floor_forecasts AS f
    JOIN floor_roles AS o
        ON o.run_id = f.run_id
        AND o.forecast_set = f.forecast_set
        AND o.session_index = f.session_index
        AND f.row BETWEEN o.first_row AND o.last_row
    JOIN floor_recordings AS r ON r.recording = o.recording
    JOIN followed AS w
        ON w.dataset_id = r.dataset_id AND w.session_index = f.session_index AND w.word = f.row // 60
    WHERE o.role = 'evaluation'
)
SELECT
    f.run_id,
    f.cluster_id,
    f.session_index,
    f.row + h.horizon_steps AS row,
    h.horizon_steps,
    h.horizon_s,
    (f.ahead >> h.horizon_steps) & 1 = 1 AS wearer,
    CASE WHEN f.valid[h.horizon_steps] THEN f.p_wearer[h.horizon_steps] END AS score
FROM forecasts AS f
JOIN floor_horizons AS h ON h.kind = 'response' AND f.row + h.horizon_steps <= f.last_row
