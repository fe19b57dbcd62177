/* ---
name: choice_strata
layer: state
title: Populations of a run
inputs: [choice_cells]
grain: [run_id, cell_index, stratum]
merge: {}
parameters: []
definition: >-
  Every cell of questions with each population that it belongs to. all: every row. clean: no perturbation. headline:
  clean and not of the source unknowable. task=T, type=T and source=S hold clean rows, variant=V all rows. A row without
  a task is in `task=`, so that the tasks add up to the clean rows.
source: KEV metric parity, "Scope differences"
reading: unknowable holds the clean rows of the source unknowable, so that headline and unknowable add up to clean.
--- */
WITH
named AS (
    SELECT
        run_id,
        cell_index,
        variant = 'clean' AS clean,
        coalesce(source, '') = 'unknowable' AS unknowable,
        variant,
        source,
        task,
        type
    FROM choice_cells
)
SELECT run_id, cell_index, 'all' AS stratum FROM named
UNION ALL
SELECT run_id, cell_index, 'clean' AS stratum FROM named WHERE clean
UNION ALL
SELECT run_id, cell_index, CASE WHEN unknowable THEN 'unknowable' ELSE 'headline' END AS stratum FROM named WHERE clean
UNION ALL
SELECT run_id, cell_index, 'task=' || coalesce(task, '') AS stratum FROM named WHERE clean
UNION ALL
SELECT run_id, cell_index, 'type=' || coalesce(type, '') AS stratum FROM named WHERE clean
UNION ALL
SELECT run_id, cell_index, 'source=' || coalesce(source, '') AS stratum FROM named WHERE clean
UNION ALL
SELECT run_id, cell_index, 'variant=' || variant AS stratum FROM named
