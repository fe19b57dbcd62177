/* ---
name: floor_candidates
layer: fact
title: Candidate events
inputs: [floor_changes, floor_recordings, floor_addressee]
grain: [recording, boundary_row]
split: {floor_activity: session_index}
parameters: [decision_timing, wearer_read_at]
materialize: true
definition: >-
  A boundary of the others at which a decision is due. Response: they fall silent while the wearer is silent. Yield:
  they start while the wearer speaks. competing_row is their next boundary, always the opposite one; transition_row is
  the wearer's first start or stop after the decision row. An event is a candidate at one horizon.
source: EasyCom floor events, "Event attribution"
reading: The wearer is read at the decision row (wearer_read_at), not on both sides of the boundary.
--- */
WITH
timed AS (
    SELECT
        recording, row, wearer, wearer_changes, others, next_wearer, next_others,
        (SELECT value FROM protocol_parameters WHERE name = 'decision_timing') = 'pre-boundary' AS decided_before
    FROM floor_changes
),
decided AS (
    SELECT
        recording,
        row AS boundary_row,
        CASE WHEN decided_before THEN row - 1 ELSE row END AS decision_row,
        others,
        -- Seen from the last old row, a change of the wearer at the boundary itself is still to come.
        CASE WHEN decided_before AND wearer_changes THEN NOT wearer ELSE wearer END AS wearer,
        CASE WHEN decided_before AND wearer_changes THEN row ELSE next_wearer END AS transition_row,
        next_others AS competing_row,
        wearer_changes
    FROM timed
)
SELECT
    d.recording,
    CASE WHEN d.others THEN 'yield' ELSE 'response' END AS kind,
    d.boundary_row,
    d.decision_row,
    d.competing_row,
    d.transition_row,
    CASE
        WHEN r.dataset_id IN (SELECT dataset_id FROM floor_addressee) THEN coalesce(a.stratum, 'unannotated')
    END AS stratum
FROM decided AS d
JOIN floor_recordings AS r ON r.recording = d.recording
LEFT JOIN floor_addressee AS a
    ON a.dataset_id = r.dataset_id
    AND a.session_index = r.session_index
    AND d.boundary_row BETWEEN a.first_row AND a.last_row
WHERE
    d.wearer = d.others
    AND (
        (SELECT value FROM protocol_parameters WHERE name = 'wearer_read_at') = 'decision_row'
        OR NOT d.wearer_changes
    )
