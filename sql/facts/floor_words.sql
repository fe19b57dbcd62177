/* ---
name: floor_words
layer: fact
title: States of the floor, packed
inputs: [floor_activity]
grain: [dataset_id, session_index, word]
parameters: []
definition: >-
  60 rows to a word: bit k of wearer and of others says whether they speak in row 60 x word + k. What compares a row
  with others near it only has words to put in order. A row that is not recorded has no bits.
--- */
SELECT
    dataset_id,
    session_index,
    row // 60 AS word,
    bit_or(CASE WHEN wearer THEN 1::BIGINT << (row % 60) ELSE 0 END) AS wearer,
    bit_or(CASE WHEN others THEN 1::BIGINT << (row % 60) ELSE 0 END) AS others
FROM floor_activity
GROUP BY dataset_id, session_index, word
