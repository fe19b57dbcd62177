"""`evalframe.open(DIR)`: a store and every question one can ask it. The command line calls the same methods."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pyarrow as pa

from evalframe.errors import UsageError
from evalframe.store import Store as Folder
from evalframe.store.refusals import naming
from evalframe.verbs import drawing
from evalframe.verbs.naming import listed
from evalframe.verbs.results import Rows

if TYPE_CHECKING:
    from evalframe.verbs.audit_engines import Engines
    from evalframe.verbs.audit_values import Impossible
    from evalframe.verbs.compare import Comparison
    from evalframe.verbs.differing import Differences
    from evalframe.verbs.explanations import Explanation
    from evalframe.verbs.export import Exported
    from evalframe.verbs.import_files import Imported
    from evalframe.verbs.leaderboard import Leaderboard
    from evalframe.verbs.report import Report
    from evalframe.verbs.validate import Checked

Method = TypeVar("Method", bound=Callable[..., Any])


class Answer(Rows):
    """The rows of a query."""

    def write(self, path: Path | str, format: str, *, force: bool = False) -> None:
        """Write the rows to `path` as parquet, csv, json, md or table text."""
        from evalframe.verbs.outputs import write_bytes

        write_bytes(Path(path), _encoded(self.table, format), force=force)

    def refuse_parquet_on_stdout(self) -> None:
        """Parquet is not text: it needs a file."""
        raise UsageError(
            "parquet needs a file",
            expected="--output FILE.parquet",
            found="stdout",
            where="--format parquet",
            hint='evalframe sql "..." --store DIR --format parquet --output answer.parquet',
        )


class Runs(Rows):
    """One row per run."""

    def shown(self) -> pa.Table:
        """Without the digests that a run was made from: they fill a screen and are for programs."""
        return self.table.drop_columns(["inputs"])

    def screen(self) -> pa.Table:
        """What tells runs apart at a glance; which of them are over the same data, `diff` and the data formats say."""
        return self.table.select(["run_id", "system", "protocols", "tags", "created_at"])


def _named_in_hints(ask: Method) -> Method:
    """A method whose errors name the store in their hints, also where they are raised by what knows no store."""

    @wraps(ask)
    def asked(self: Store, *given: Any, **named: Any) -> Any:
        with naming(self.folder.path):
            return ask(self, *given, **named)

    return cast(Method, asked)


class Store:
    """Runs and results in a folder. Reading methods return tables; nothing here changes a sealed run."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"Store({str(self.folder.path)!r}, {len(self.folder.run_ids())} runs)"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.runs()._repr_html_()}"

    def runs(self) -> Runs:
        """One row per run: id, system, dataset, tags, when it was sealed, and the protocols it was scored under."""
        return Runs(_with_protocols(self.folder))

    @_named_in_hints
    def diff(self, a: str, b: str) -> Differences:
        """What two runs differ in: data, tags, inputs, protocols and parameters; nothing that is equal."""
        from evalframe.verbs.differing import differing

        return differing(self.folder, a, b)

    @_named_in_hints
    def sql(
        self, query: str, *, runs: Sequence[str] | str | None = None, relations: Path | str | None = None
    ) -> Answer:
        """The answer to one SELECT. Contract tables and all relations of sql/ are views; everything else is refused.

        Of columns with one name the second is named `name_1`, since rows of JSON and files hold a name once.
        runs: look at these alone. A relation is computed from the predictions of all runs that are looked at.
        relations: a folder of the user's own, which are views too.
        """
        from evalframe.relations import catalogue
        from evalframe.verbs.sql import ask

        known = None if relations is None else catalogue(Path(relations))
        return Answer(ask(self.folder, query, known, None if runs is None else listed(runs)))

    @_named_in_hints
    def compare(
        self, baseline: str, candidates: Sequence[str] | str, *, save: bool = False, **options: Any
    ) -> Comparison:
        """Compare runs with a baseline; the options are those of `evalframe.verbs.compare.compare`.

        save: seal the rows in table `comparisons`, for SQL and exports. The same comparison again is a no-op.
        """
        from evalframe.verbs.compare import compare

        found = compare(self.folder, baseline, candidates, **options)
        if save:
            (identity,) = set(found.table["comparison_id"].to_pylist())
            self.folder.write_record(
                "comparisons", identity, found.table, inputs={"comparison_id": identity}, runs=found.runs
            )
        return found

    @_named_in_hints
    def leaderboard(self, **options: Any) -> Leaderboard:
        """Rank the runs of a protocol; the options are those of `evalframe.verbs.leaderboard.leaderboard`."""
        from evalframe.verbs.leaderboard import leaderboard

        return leaderboard(self.folder, **options)

    @_named_in_hints
    def explain(self, name: str, *, run: str | None = None, steps: bool = False) -> Explanation:
        """What a metric, protocol or table means; with `steps`, the rows of every relation on `run`."""
        from evalframe.verbs.explain import explain

        return explain(name, steps=steps, store=self.folder, run=run)

    def validate(self, table: str, file: Path | str) -> Checked:
        """Every rule of a table's contract against the rows of a file, before it is brought into the store."""
        from evalframe.verbs.validate import validate

        return validate(table, Path(file))

    @_named_in_hints
    def audit_values(self, runs: Sequence[str] | str | None = None) -> Impossible:
        """Numbers of the store that cannot be, such as a count that is no count."""
        from evalframe.verbs.audit_values import audit_values

        return audit_values(self.folder.path, runs=runs)

    @_named_in_hints
    def audit_engines(self, run: str) -> Engines:
        """Every relation of a run on a second engine; what differs is sealed in table `audit_findings`."""
        from evalframe.verbs.audit_engines import audit_engines

        return audit_engines(self.folder.path, run)

    @_named_in_hints
    def export(self, to: str, **options: Any) -> Exported:
        """Write the star schema for BI tools, or records; the options are those of `evalframe.verbs.export.export`."""
        from evalframe.verbs.export import export

        return export(self.folder, to, **options)

    @_named_in_hints
    def import_files(self, files: Sequence[Path | str] | Path | str, **options: Any) -> Imported:
        """Import files of other tools; the options are those of `evalframe.verbs.import_files.import_files`."""
        from evalframe.verbs.import_files import import_files

        return import_files(files, store=self.folder, **options)

    @_named_in_hints
    def report(self, output: Path | str | None = None, **options: Any) -> Report:
        """One page that shows the store; the options are those of `evalframe.verbs.report.report`."""
        from evalframe.verbs.report import report

        return report(self.folder, None if output is None else Path(output), **options)

    @_named_in_hints
    def rescore(self, runs: Sequence[str] | str | None = None, *, relations: Path | str | None = None) -> Rows:
        """Score stored runs again under the installed definitions; results under older ones stay.

        relations: a folder of the user's own, whose metrics are scored too.
        """
        from evalframe.verbs.rescore import rescore

        return rescore(self.folder, runs, relations=None if relations is None else Path(relations))

    def verify(self) -> Rows:
        """Every difference between sealed files and their seals; no rows when there is none."""
        return Rows(self.folder.verify())

    def gc(self, *, dry_run: bool = False) -> list[str]:
        """Remove what killed writers left behind; the removed paths, relative to the store."""
        return self.folder.gc(dry_run=dry_run)

    def withdraw(self, run: str, *, reason: str) -> str:
        """Hide a run from every reader behind a sealed reason."""
        return self.folder.withdraw(run, reason)


def open_store(path: Path | str) -> Store:
    """The store in folder `path` or at a URI, which must exist. Raises StoreError when it is not one."""
    return Store(Folder.open(path))


def _with_protocols(folder: Folder) -> pa.Table:
    runs = folder.runs()
    protocols: dict[str, set[str]] = {}
    for result in folder.scored().to_pylist():
        protocols.setdefault(result["run_id"], set()).add(result["protocol"])
    column = [sorted(protocols.get(run_id, ())) for run_id in runs["run_id"].to_pylist()]
    return runs.append_column("protocols", pa.array(column, pa.list_(pa.large_string())))


def _encoded(table: pa.Table, format: str) -> bytes:
    if format == "parquet":
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        return bytes(sink.getvalue().to_pybytes())
    if format == "json":
        return (json.dumps(drawing.rows(table), ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()
    if format == "csv":
        return drawing.csv(table).encode()
    drawn = {"md": drawing.markdown, "latex": drawing.latex, "html": drawing.html, "table": drawing.table}
    return (drawn[format](table) + "\n").encode()
