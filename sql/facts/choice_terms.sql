/* ---
name: choice_terms
layer: fact
title: The terms that sums and ranks are made of
inputs: [choice_outcomes]
grain: [run_id, item_index]
parameters: [ties]
poolable: true
definition: Of every outcome its cell of questions, its cluster and the numbers that are added up or ranked. confidence is null where the model failed. item_index is there where the order of rows decides (ties = prefix), else null.
not: No names and no probabilities, so that where sums and ranks are both wanted, probabilities are read once and few bytes a row are kept.
--- */
SELECT
    run_id,
    cell_index,
    cluster_id,
    CASE WHEN (SELECT value FROM protocol_parameters WHERE name = 'ties') = 'prefix' THEN item_index END AS item_index,
    labelled,
    confidence,
    correct,
    nll,
    brier
FROM choice_outcomes
