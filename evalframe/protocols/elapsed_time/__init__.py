"""Elapsed times of works that were done in rounds, as benchmarks record them."""

from __future__ import annotations

from evalframe.protocols.base import Parameter, Protocol

MACHINE = Parameter(
    name="machine",
    default="unnamed",
    meaning="The machine that the times were taken on, in words that tell it from others. No number is calculated from"
    " it: times of two machines answer two questions, and so have two fingerprints.",
)

TIMING_1 = Protocol(
    name="timing",
    version="1",
    system="timing",
    title="Times of works that were done in rounds, on one machine",
    metrics=("seconds", "processor_seconds", "seconds_of_floor", "peak_memory"),
    # What else the machine does makes the floor of a round longer too, and seconds alone would be called worse for it.
    primary=("seconds_of_floor",),
    parameters=(MACHINE,),
    stored=(),
    items="timing_items",
    cluster="round",
    # The ways that stand beside ours tell whether the machine was as free in both runs; the change is not theirs.
    primary_stratum="role=ours",
    claims="Says what was slower or faster on one machine while it did what else it did. An interval is over the rounds"
    " of two runs: it knows nothing of what differs from day to day.",
)

PROTOCOLS = (TIMING_1,)
