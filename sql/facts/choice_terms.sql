/* ---
name: choice_terms
layer: fact
title: The terms that sums and ranks are made of
inputs: [choice_outcomes]
grain: [run_id, item_index]
parameters: []
poolable: true
definition: Of every outcome its cell of questions, its cluster and the numbers that are added up or ranked. confidence is null where the model failed.
not: No names and no probabilities, so that where sums and ranks are both wanted, probabilities are read once and few bytes a row are kept.
--- */
SELECT
    run_id,
    cell_index,
    cluster_id,
    item_index,
    labelled,
    confidence,
    correct,
    nll,
    brier
FROM choice_outcomes
