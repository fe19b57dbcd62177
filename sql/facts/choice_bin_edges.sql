/* ---
name: choice_bin_edges
layer: fact
title: Edges of the confidence bins
inputs: []
grain: [bin]
parameters: [bin_rule, n_bins]
definition: The edges linspace(0, 1, n_bins + 1) in float64, each i x (1 / n_bins) as NumPy makes them, so that 0.3 lies below the fourth; i / n_bins under the rule truncated, which compares no edge.
--- */
WITH
settings AS (
    SELECT
        CAST((SELECT value FROM protocol_parameters WHERE name = 'n_bins') AS INTEGER) AS n_bins,
        (SELECT value FROM protocol_parameters WHERE name = 'bin_rule') AS bin_rule
),
numbered AS (
    SELECT unnest(range(n_bins)) AS i, n_bins, bin_rule FROM settings
)
SELECT
    CAST(i AS SMALLINT) AS bin,
    CASE WHEN bin_rule = 'truncated' THEN i / n_bins::DOUBLE ELSE i * (1.0::DOUBLE / n_bins) END AS lo,
    CASE
        WHEN i = n_bins - 1 THEN 1.0::DOUBLE
        WHEN bin_rule = 'truncated' THEN (i + 1) / n_bins::DOUBLE
        ELSE (i + 1) * (1.0::DOUBLE / n_bins)
    END AS hi
FROM numbered
