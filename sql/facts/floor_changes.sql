/* ---
name: floor_changes
layer: fact
title: Changes of the floor
inputs: [floor_activity, floor_recordings]
grain: [recording, row]
parameters: []
definition: >-
  The rows at which the wearer or the others start or stop, with the state they change to. The first row of a
  recording changes nothing: what came before it was not recorded.
--- */
WITH
-- 60 rows to a word, a bit each: to compare every row with the one before it, only words need to be put in order.
words AS (
    SELECT
        dataset_id, session_index,
        row // 60 AS word,
        bit_or(CASE WHEN wearer THEN 1::BIGINT << (row % 60) ELSE 0 END) AS wearer,
        bit_or(CASE WHEN others THEN 1::BIGINT << (row % 60) ELSE 0 END) AS others
    FROM floor_activity
    GROUP BY dataset_id, session_index, word
),
-- Shifted by one row, every bit stands where the next row's does; the first bit comes from the end of the word before.
beside AS (
    SELECT
        dataset_id, session_index, word, wearer, others,
        wearer << 1 | coalesce(lag(wearer) OVER (PARTITION BY dataset_id, session_index ORDER BY word) >> 59, 0)
            AS wearer_before,
        others << 1 | coalesce(lag(others) OVER (PARTITION BY dataset_id, session_index ORDER BY word) >> 59, 0)
            AS others_before
    FROM words
),
rows_again AS (
    SELECT
        dataset_id, session_index,
        word * 60 + bit AS row,
        (wearer >> bit) & 1 = 1 AS wearer,
        (others >> bit) & 1 = 1 AS others,
        (xor(wearer, wearer_before) >> bit) & 1 = 1 AS wearer_changes,
        (xor(others, others_before) >> bit) & 1 = 1 AS others_change
    FROM beside
    CROSS JOIN (SELECT unnest(range(60)) AS bit) AS bits
    WHERE ((xor(wearer, wearer_before) | xor(others, others_before)) >> bit) & 1 = 1
)
SELECT
    r.recording,
    c.row,
    c.wearer,
    c.others,
    c.wearer_changes,
    c.others_change
FROM rows_again AS c
JOIN floor_recordings AS r
    ON r.dataset_id = c.dataset_id
    AND r.session_index = c.session_index
    AND c.row > r.first_row
    AND c.row <= r.last_row
