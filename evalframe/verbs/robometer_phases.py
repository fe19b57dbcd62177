"""The phases of one step: progress, failure, filtering. Each ends with its file, and a rerun begins after the last one.

Predictions of a phase under way are kept in parts of a fixed number of trajectories. Batches never reach across parts,
so that the model is asked the same batches whether or not it was interrupted, and the bytes come out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from evalframe.inference.progress import Predictor
from evalframe.inference.progress_queries import Answer, Video, answers
from evalframe.sources import progress as source
from evalframe.sources.progress_dataset import Row, Selection
from evalframe.underway import tell
from evalframe.verbs import robometer_report as report
from evalframe.verbs.robometer_output import METRICS, TRACES, Step
from evalframe.verbs.robometer_steps import TRACE_COLUMNS, Question, answers_of, parquet, scored_step

COMMAND = "robometer evaluate"

PART = 32
"""Trajectories per part: what a killed evaluation repeats at most. Part of what makes the bytes, so never changed."""

_SCHEMA = {
    "trajectory_id": pl.String,
    "query_task": pl.String,
    "prefix_index": pl.Int64,
    "frame_index": pl.Int64,
    "progress": pl.Float64,
    "success_probability": pl.Float64,
    "error": pl.String,
}


def video_of(row: Row) -> Video:
    """A selected row as something to ask about."""
    return Video(row.trajectory_id, len(row.target), row.frames.read)


@dataclass
class StepRun:
    """One step being evaluated. load makes the predictor of its checkpoint, and is called only if a model is needed."""

    asked: Question
    selection: Selection
    step: Step
    load: Callable[[], Predictor]
    batch_size: int

    @cached_property
    def _predictor(self) -> Predictor:
        return self.load()

    def run(self) -> None:
        """Whatever phases are missing, in order, and metrics.json last."""
        if self.step.complete:
            return
        own = self._own_traces()
        if not (self.step.has("progress") and self.step.has("failure")):
            found = self._evaluated(own, (*report.PROGRESS, *report.FAILURE))
            self._write("progress", report.progress_body(found))
            self._write("failure", report.failure_body(found))
        everything = self._all_traces(own)
        if not self.step.has("filtering"):
            found = self._evaluated(everything, report.filtering_relations(self.asked.protocol))
            self._write("filtering", report.filtering_body(found, self.asked.top_k))
        self.step.clear_parts()
        scored = scored_step(
            self.asked, self.step.step, everything, inputs={}, tags={}, store=None, origin="recomputed"
        )
        self.step.write(METRICS, self.asked.json(COMMAND, report.metrics_body(answers_of(scored))))

    def _own_traces(self) -> pl.DataFrame:
        """Every trajectory asked about its own task: from traces.parquet where that phase is behind us."""
        if not self.step.traces.is_file():
            tasks = {row.trajectory_id: (row.task,) for row in self.selection.rows}
            rows = self._predicted("progress", lambda video: tasks[video.trajectory_id])
            self.step.write(TRACES, self._file(rows))
        return self._read().filter(self._is_own())

    def _all_traces(self, own: pl.DataFrame) -> pl.DataFrame:
        """Every trajectory asked about every task of the split."""
        there = self._read()
        if len(there) > len(own) or len(self.selection.tasks) == 1:
            return there
        others = {
            row.trajectory_id: tuple(task for task in self.selection.tasks if task != row.task)
            for row in self.selection.rows
        }
        rows = self._predicted("filtering", lambda video: others[video.trajectory_id])
        self.step.write(TRACES, self._file(pl.concat([own.select(list(_SCHEMA)), rows])), replace=True)
        return self._read()

    def _predicted(self, phase: str, tasks_of: Callable[[Video], Sequence[str]]) -> pl.DataFrame:
        """The phase's answers, part by part; a part that is there already is not asked for again."""
        files = []
        for number, rows in enumerate(_parts(self.selection.rows)):
            path = self.step.parts / f"{phase}-{number:06d}.parquet"
            if not path.is_file():
                found = answers(self._predictor, [video_of(row) for row in rows], tasks_of, self.batch_size)
                told = self._told(found, phase, number * PART)
                self.step.write(f"{self.step.parts.name}/{path.name}", parquet(_frame(told), list(_SCHEMA)))
            files.append(path)
        return pl.concat([pl.read_parquet(path) for path in files])

    def _told(self, found: Iterator[Answer], phase: str, done: int) -> Iterator[Answer]:
        """The answers, with progress told by trajectory."""
        last = None
        for answer in found:
            if answer.trajectory_id != last:
                tell(f"{phase} trajectories", done, len(self.selection.rows))
                last, done = answer.trajectory_id, done + 1
            yield answer

    def _file(self, rows: pl.DataFrame) -> bytes:
        named = rows.with_columns(run_id=pl.lit(self.asked.run_id), step=pl.lit(self.step.step, pl.Int64)).sort(
            "trajectory_id", "query_task", "prefix_index"
        )
        return parquet(named, TRACE_COLUMNS)

    def _read(self) -> pl.DataFrame:
        """`progress_traces` of the step as they lie in traces.parquet."""
        return source.read_traces(self.step.traces, self.selection.targets)[self.step.step]

    def _is_own(self) -> pl.Expr:
        own = dict(self.selection.targets.labels.select("trajectory_id", "task").iter_rows())
        return pl.col("query_task") == pl.col("trajectory_id").replace_strict(own)

    def _evaluated(self, traces: pl.DataFrame, outputs: Sequence[str]) -> dict[str, report.Rows]:
        tables = self.asked.tables(self.step.step, traces)
        return report.evaluated(tables, self.asked.relations, self.asked.identity.parameters, outputs)

    def _write(self, phase: str, body: dict[str, object]) -> None:
        self.step.write(f"{phase}.json", self.asked.json(COMMAND, body))


def _parts(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    for start in range(0, len(rows), PART):
        yield rows[start : start + PART]


def _frame(found: Iterator[Answer]) -> pl.DataFrame:
    return pl.DataFrame(list(found), schema=_SCHEMA, orient="row")
