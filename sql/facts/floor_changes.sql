/* ---
name: floor_changes
layer: fact
title: Changes of the floor
inputs: [floor_words, floor_recordings]
grain: [recording, row]
parameters: []
definition: >-
  The rows at which the others start or stop, with the states they change to, whether the wearer changes in the same
  row, and the rows at which the wearer and the others change next within the recording. The first row of a recording
  changes nothing: what came before it was not recorded.
--- */
WITH
-- Shifted by one row, every bit stands where the next row's does; the first bit comes from the end of the word before.
beside AS (
    SELECT
        dataset_id, session_index, word, wearer, others,
        wearer << 1 | coalesce(lag(wearer) OVER (PARTITION BY dataset_id, session_index ORDER BY word) >> 59, 0)
            AS wearer_before,
        others << 1 | coalesce(lag(others) OVER (PARTITION BY dataset_id, session_index ORDER BY word) >> 59, 0)
            AS others_before
    FROM floor_words
),
compared AS (
    SELECT
        dataset_id, session_index, word, wearer, others,
        (1::BIGINT << 60) - 1 AS whole_word,
        xor(wearer, wearer_before) & whole_word AS wearer_changes,
        xor(others, others_before) & whole_word AS others_change
    FROM beside
),
-- The lowest bit of x that is set has as many bits below it as (x & -x) - 1 has set.
followed AS (
    SELECT
        dataset_id, session_index, word, wearer, others, wearer_changes, others_change,
        lead(
            CASE WHEN wearer_changes <> 0 THEN word * 60 + bit_count((wearer_changes & -wearer_changes) - 1) END
            IGNORE NULLS
        ) OVER (PARTITION BY dataset_id, session_index ORDER BY word) AS wearer_in_later_word,
        lead(
            CASE WHEN others_change <> 0 THEN word * 60 + bit_count((others_change & -others_change) - 1) END
            IGNORE NULLS
        ) OVER (PARTITION BY dataset_id, session_index ORDER BY word) AS others_in_later_word
    FROM compared
),
rows_again AS (
    SELECT
        dataset_id, session_index, wearer_in_later_word, others_in_later_word,
        word * 60 + bit AS row,
        (wearer >> bit) & 1 = 1 AS wearer,
        (others >> bit) & 1 = 1 AS others,
        (wearer_changes >> bit) & 1 = 1 AS wearer_changes,
        wearer_changes >> (bit + 1) AS wearer_after,
        others_change >> (bit + 1) AS others_after
    FROM followed
    CROSS JOIN (SELECT unnest(range(60)) AS bit) AS bits
    WHERE (others_change >> bit) & 1 = 1
),
searched AS (
    SELECT
        dataset_id, session_index, row, wearer, others, wearer_changes,
        CASE
            WHEN wearer_after <> 0 THEN row + 1 + bit_count((wearer_after & -wearer_after) - 1)
            ELSE wearer_in_later_word
        END AS next_wearer,
        CASE
            WHEN others_after <> 0 THEN row + 1 + bit_count((others_after & -others_after) - 1)
            ELSE others_in_later_word
        END AS next_others
    FROM rows_again
)
SELECT
    r.recording,
    c.row,
    c.wearer,
    c.others,
    c.wearer_changes,
    CASE WHEN c.next_wearer <= r.last_row THEN c.next_wearer END AS next_wearer,
    CASE WHEN c.next_others <= r.last_row THEN c.next_others END AS next_others
FROM searched AS c
JOIN floor_recordings AS r
    ON r.dataset_id = c.dataset_id
    AND r.session_index = c.session_index
    AND c.row > r.first_row
    AND c.row <= r.last_row
