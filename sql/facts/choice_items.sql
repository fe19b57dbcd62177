/* ---
name: choice_items
layer: fact
title: The evaluation set of a run
inputs: [choice_named_answers]
grain: [run_id, item_id]
parameters: []
definition: >-
  Every question with what its metrics are scored against: its name (id, question), its right option where it is
  labelled, its cluster, and the populations, pair, control and parent it belongs to.
not: Holds nothing that depends on a prediction.
--- */
SELECT
    run_id,
    item_index,
    -- Lengths first, so that no two names or populations are written alike.
    CAST(length(item_id) AS VARCHAR) || ':' || item_id || question AS item_id,
    CASE WHEN labelled THEN coalesce(truth_key, '') END AS label,
    cluster_id,
    list_aggregate(
        list_transform(
            [variant, source, task, type, family, pair_id, sibling, control_id, parent],
            lambda part: coalesce(CAST(length(part) AS VARCHAR) || ':' || part, '-')
        ),
        'string_agg',
        ''
    ) AS stratum
FROM choice_named_answers
