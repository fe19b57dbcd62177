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
  clean and not of the source unknowable. task=T, type=T and source=S hold clean rows, variant=V all rows. Where some
  rows have a task and others none, the others are in `task=`, so that the tasks add up to the clean rows.
source: KEV metric parity, "Scope differences"
reading: unknowable holds the clean rows of the source unknowable, so that headline and unknowable add up to clean.
--- */
WITH
fields AS (
    SELECT run_id, count(task) AS tasks, count(type) AS types, count(source) AS sources
    FROM choice_cells
    GROUP BY run_id
),
named AS (
    SELECT
        c.run_id,
        c.cell_index,
        c.variant = 'clean' AS clean,
        coalesce(c.source, '') = 'unknowable' AS unknowable,
        'variant=' || c.variant AS variant,
        CASE WHEN f.sources > 0 THEN 'source=' || coalesce(c.source, '') END AS source,
        CASE WHEN f.tasks > 0 THEN 'task=' || coalesce(c.task, '') END AS task,
        CASE WHEN f.types > 0 THEN 'type=' || coalesce(c.type, '') END AS type
    FROM choice_cells AS c
    JOIN fields AS f ON f.run_id = c.run_id
),
placed AS (
    SELECT run_id, cell_index, 'all' AS stratum FROM named
    UNION ALL
    SELECT run_id, cell_index, 'clean' AS stratum FROM named WHERE clean
    UNION ALL
    SELECT run_id, cell_index, CASE WHEN unknowable THEN 'unknowable' ELSE 'headline' END AS stratum FROM named WHERE clean
    UNION ALL
    SELECT run_id, cell_index, task AS stratum FROM named WHERE clean
    UNION ALL
    SELECT run_id, cell_index, type AS stratum FROM named WHERE clean
    UNION ALL
    SELECT run_id, cell_index, source AS stratum FROM named WHERE clean
    UNION ALL
    SELECT run_id, cell_index, variant AS stratum FROM named
)
SELECT run_id, cell_index, stratum FROM placed WHERE stratum IS NOT NULL
