"""Every command that writes, over small inputs: what is there before, what is typed, and what must be there after."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults import databases

_OLD = "ef1-" + "0" * 64
SESSIONS = [f"s{i}" for i in range(4)]


@dataclass(frozen=True)
class Command:
    """words: the command line; before: command lines that were run earlier; needs: modules beyond the dependencies.
    `{given}`, `{out}` and `{store}` stand for the folders of inputs, of outputs and of the store, `{database}` for the
    URI of a PostgreSQL database."""

    words: str
    before: tuple[str, ...] = ()
    exit_code: int = 0
    needs: tuple[str, ...] = ()

    @property
    def uses_database(self) -> bool:
        """Whether it needs a server."""
        return "{database}" in self.words

    def missing(self) -> str:
        """Why it cannot run here; empty where it can."""
        modules = [name for name in self.needs if find_spec(name) is None]
        if modules:
            return f"no module {', '.join(modules)}"
        return "no PostgreSQL server" if self.uses_database and databases.SERVER not in os.environ else ""


_FORECAST = (
    "floor evaluate --target-root {given}/target --run m={given}/run"
    " --sessions s0 s1 s2 --calibration-sessions s3 --output {out}/f.json --store {store}"
)
_ROBOT = (
    "robometer evaluate --predictor tests.protocols.robometer_frozen.videos:factory"
    " --dataset {given}/robot/processed_dataset"
    " --task-registry {given}/robot/task_registry.json --split test_ood --checkpoint-root {given}/robot/checkpoints"
    " --base-model {given}/robot/base --output {out}/robot --setting A --steps 0 --set rows_per_outcome=1 top_k=2"
)
_SCORED = "wisp score --predictions {given}/a.npz --output {out}/a.json --store {store}"
_OTHER = "wisp score --predictions {given}/b.npz --output {out}/b.json --store {store}"
_SHEET = "floor audit-sheet --store {store} --run m --events 2 --seed 1 --output {out}/sheet.csv"
_EXPORT = "export --store {store} --replicates 50 --to "
_INTO_DATABASE = "export --store {store} --no-compare --force --to {database}"
_RELEASE = "--inventory {given}/release/inventory.csv --frozen {given}/release/run_results.csv"

COMMANDS: dict[str, Command] = {
    "wisp score": Command(_SCORED),
    "wisp audit": Command(f"wisp audit {_RELEASE} --output {{out}}/audit --store {{store}}"),
    "wisp gate": Command(f"wisp gate {_RELEASE} --output {{out}}/gate --store {{store}}"),
    "wisp compare-exports": Command("wisp compare-exports {given}/x.npz {given}/y.npz --output {out}/exports.json"),
    "wisp evaluate": Command(
        "wisp evaluate --checkpoint {given}/model.pt --module tests.faults.commands:module --data {given}/x.npz"
        " --output {out}/e.json --store {store}",
        needs=("torch",),
    ),
    "kev score": Command("kev score --rows {given}/rows.jsonl --output {out}/k.json --store {store}"),
    "floor evaluate": Command(_FORECAST),
    "floor rasterize": Command("floor rasterize {given}/m.rttm {given}/n.rttm --wearer w --output-dir {out}/target"),
    "floor convert-miniroada": Command(
        "floor convert-miniroada --prediction-root {given}/raw --target-root {given}/long --output-dir {out}/run"
        " --sessions s0 s1"
    ),
    "floor audit-sheet": Command(_SHEET, (_FORECAST,)),
    "floor freeze": Command(
        "floor freeze --sheet {out}/sheet.csv --store {store} --output {out}/freeze.json",
        (_FORECAST, _SHEET, "answer"),
    ),
    "robometer evaluate": Command(f"{_ROBOT} --store {{store}}"),
    "robometer score": Command(
        "robometer score --traces {given}/traces.parquet --targets {given}/targets.parquet --protocol robometer-ind"
        " --top-k 2 --output {out}/scored --store {store}"
    ),
    "robometer import": Command("robometer import {out}/robot --store {store}", (_ROBOT,)),
    "compare --save": Command(
        "compare --store {store} --baseline a --candidate b --replicates 50 --save", (_SCORED, _OTHER)
    ),
    "rescore": Command("rescore --store {store}", (_SCORED, "older")),
    "sql": Command("sql SELECT#1#AS#x --store {store} --format parquet --output {out}/x.parquet", (_SCORED,)),
    "explain": Command("explain class_labels --example {out}/example.csv"),
    "export duckdb": Command(f"{_EXPORT}{{out}}/x.duckdb", (_SCORED, _OTHER)),
    "export parquet": Command(f"{_EXPORT}parquet:{{out}}/x", (_SCORED, _OTHER)),
    "export sqlite": Command(f"{_EXPORT}sqlite:{{out}}/x.sqlite", (_SCORED, _OTHER)),
    "export eee": Command(f"{_EXPORT}eee:{{out}}/x", (_SCORED, _OTHER)),
    "export superset": Command(
        f"{_EXPORT}superset:{{out}}/x.zip --database duckdb:////data/x.duckdb", (_SCORED, _OTHER)
    ),
    "export delta": Command(f"{_EXPORT}delta:{{out}}/x", (_SCORED, _OTHER), needs=("deltalake",)),
    "export hyper": Command(f"{_EXPORT}hyper:{{out}}/x.hyper", (_SCORED, _OTHER), needs=("pantab",)),
    "export postgresql": Command(_INTO_DATABASE, (_SCORED, _INTO_DATABASE, _OTHER), needs=("adbc_driver_postgresql",)),
    "export csv again": Command(
        "export --store {store} --to csv:{out}/x --no-compare --force",
        (_SCORED, "export --store {store} --to csv:{out}/x --no-compare", _OTHER),
    ),
    "export duckdb again": Command(
        "export --store {store} --to {out}/x.duckdb --no-compare --force",
        (_SCORED, "export --store {store} --to {out}/x.duckdb --no-compare", _OTHER),
    ),
    "import lm-eval": Command("import {given}/samples_t.jsonl {given}/results.json --store {store} --run-id m"),
    "import inspect": Command("import {given}/log.eval --store {store} --run-id m"),
    "import records": Command("import {given}/record.json --store {store}"),
    "kev verify-metrics": Command(
        "kev verify-metrics --kev-root {given}/reference --pins {given}/reference/pins.json --output {out}/p.json"
    ),
    "audit parity": Command("audit parity --spec {given}/parity/bucketed_ece.yaml --output {out}/p.json"),
    "completion": Command("completion bash --output {out}/evalframe.bash"),
    "report": Command("report --store {store} --output {out}/r.html --replicates 50", (_SCORED, _OTHER)),
    "demo": Command("demo {out}/demo"),
    "store withdraw": Command("store withdraw {store} a --reason because", (_SCORED,)),
    "store gc": Command("store gc {store}", (_SCORED, "garbage")),
    "compaction": Command("compact", (_SCORED, _OTHER)),
}


def build(given: Path) -> None:
    """The inputs of all commands."""
    import polars as pl

    from evalframe.verbs import demo_data
    from tests.audit.releases import release
    from tests.protocols.easycom_floor.folders import random_sessions, write_run, write_targets
    from tests.protocols.robometer_frozen import videos
    from tests.protocols.robometer_frozen.worlds import target_rows, trace_rows, trajectories

    given.mkdir(parents=True)
    for name, skill in (("a", 0.6), ("b", 0.8)):
        (given / f"{name}.npz").write_bytes(demo_data.windows(skill=skill, seed=3))
    (given / "rows.jsonl").write_bytes(demo_data.questions(skill=0.3, seed=4))
    for name, start in (("x", 0.0), ("y", 1.0)):
        np.savez(
            given / f"{name}.npz",
            X=np.arange(48, dtype=np.float32).reshape(4, 6, 2),
            y=np.array([0, 1, 0, 1]),
            participant=np.array(["p", "p", "q", "q"]),
            time=np.arange(4) + start,
            classes=np.array(["sit", "walk"]),
        )
    made = given / "release"
    made.mkdir()
    release(made, models=2).write()
    sessions = random_sessions(8, SESSIONS)
    write_targets(given / "target", sessions)
    write_run(given / "run", sessions)
    (given / "raw").mkdir()
    (given / "long").mkdir()
    for name in SESSIONS[:2]:
        np.save(given / "long" / f"{name}.npy", np.tile(np.array([1, 0, 0], np.float32), (20, 1)))
        np.save(given / "raw" / f"{name}.npy", np.full((10, 10, 3), 1 / 3, np.float32))
    for name in "mn":
        (given / f"{name}.rttm").write_text(f"SPEAKER {name} 1 0 0.5 <NA> <NA> w <NA> <NA>\n")
    (given / "robot").mkdir()
    videos.write_checkpoints(videos.write(given / "robot", videos.rows_of(videos.OOD, 1)), [])
    world = trajectories(3)
    target_rows(world).write_parquet(given / "targets.parquet")
    trace_rows(world, run_id="robot").with_columns(pl.col("progress")).write_parquet(given / "traces.parquet")
    _foreign(given)
    _references(given)
    _checkpoint(given)


def _foreign(given: Path) -> None:
    """Files of other tools."""
    from tests.sources.foreign import archive, inspect_log, inspect_sample, lines, record, results, sample, written

    samples = [sample(i, ["no", "yes"], [-1.5, -2.0 + i], 1) for i in range(3)]
    lines(given / "samples_t.jsonl", samples)
    written(given / "results.json", results({"t": samples}, samples[0]["metrics"]))
    answers = [inspect_sample(f"q{i}", 1, "t", {"match": "CI"[i % 2]}) for i in range(4)]
    archive(given / "log.eval", inspect_log(answers, {"match": 0.5}))
    written(given / "record.json", record())


def _references(given: Path) -> None:
    """Reference implementations that metrics are compared with."""
    from tests.audit.parity_references import REFERENCES, kev_copy, pins

    pins(kev_copy(given / "reference"))
    shutil.copytree(REFERENCES, given / "parity")


def module() -> Any:
    """`--module tests.faults.commands:module`."""
    import torch

    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2))


def _checkpoint(folder: Path) -> None:
    with contextlib.suppress(ImportError):
        import torch

        torch.manual_seed(0)
        torch.save(module().state_dict(), folder / "model.pt")
        told = {"classes": ["sit", "walk"], "layout": "NTC", "decoder": "per_window"}
        (folder / "model.pt.json").write_text(json.dumps(told))


def copied(command: Command, before: Path, base: Path) -> None:
    """Everything that the command may change, as it is before the command, in a folder of its own."""
    shutil.rmtree(base, ignore_errors=True)
    shutil.copytree(before, base)
    if command.uses_database:
        databases.made(base, like=before)


def prepare(command: Command, given: Path, base: Path) -> None:
    """A folder as it is before the command."""
    (base / "out").mkdir(parents=True)
    if command.uses_database:
        databases.made(base)
    for words in command.before:
        if words == "answer":
            _answer(base / "out" / "sheet.csv")
        elif words == "garbage":
            _leave_garbage(base / "store")
        elif words == "older":
            _make_older(base / "store")
        else:
            code = call(words, given, base)
            assert code == 0, words


def call(words: str, given: Path, base: Path) -> int:
    """The exit code of a command line; `#` stands for a space within a word."""
    from evalframe.cli.run import run
    from evalframe.errors import EvalframeError
    from evalframe.store import Store

    os.chdir(base)
    folders = {"given": str(given), "out": str(base / "out"), "store": str(base / "store")}
    if "{database}" in words:
        folders["database"] = databases.uri(base)
    if words == "compact":
        try:
            Store.open(base / "store").compact()
        except EvalframeError as error:
            print(error, file=sys.stderr)
            return error.exit_code
        return 0
    return run([word.format(**folders).replace("#", " ") for word in words.split()])


def _answer(sheet: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(sheet.read_text(encoding="utf-8"))))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, **{f"q{i}": "yes" for i in range(1, 6)}, "reviewer": "ann"} for row in rows)
    sheet.write_text(out.getvalue(), encoding="utf-8")


def _leave_garbage(store: Path) -> None:
    """What a writer that was killed leaves: half files, and the journal that claims them."""
    journal = {"pid": 1, "claims": ["class_labels/part_run=r-killed/part-"]}
    (store / ".writers" / "0123456789abcdef.json").write_text(json.dumps(journal), encoding="utf-8")
    folder = store / "class_labels" / "part_run=r-killed"
    folder.mkdir()
    for number in range(3):
        (folder / f"part-{number}.parquet").write_bytes(b"half")


def _make_older(path: Path) -> None:
    """Leave the run its results under a fingerprint that no installed definition has."""
    import pyarrow as pa

    from evalframe.store import Store

    store = Store.open(path)
    (seal,) = store.results("a")
    tables = {name: store.read(name, runs=["a"]) for name in seal.contracts}
    for name, table in tables.items():
        place = table.schema.get_field_index("protocol_fingerprint")
        old = pa.array([_OLD] * len(table), table.schema.field(place).type)
        tables[name] = table.set_column(place, table.schema.field(place), old)
    for file in (path / ".seals" / "results").rglob("*.json"):
        file.unlink()
    store = Store.open(path)
    store.gc()
    store.write_results("a", protocol=seal.protocol, protocol_fingerprint=_OLD, tables=tables, inputs=seal.inputs)


def outputs(folder: Path) -> dict[str, bytes]:
    """The files that a user sees, by path; of a database what it says it holds, of a Delta table its rows."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if (path / "_delta_log").is_dir() and not _is_hidden(name):
            found[name] = _rows(path)
        elif path.is_file() and not _is_hidden(name) and not _is_delta(path):
            found[name] = _content(path)
    return found


def _is_delta(path: Path) -> bool:
    return any((parent / "_delta_log").is_dir() for parent in path.parents)


def _rows(table: Path) -> bytes:
    from deltalake import DeltaTable

    return "\n".join(sorted(map(str, DeltaTable(table).to_pyarrow_table().to_pylist()))).encode()


def hidden(folder: Path) -> list[str]:
    """What is there besides."""
    names = (path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return sorted(name for name in names if _is_hidden(name) and not name.endswith("/.lock") and "store/." not in name)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _content(path: Path) -> bytes:
    from evalframe.engines.duckdb_file import ask_file

    if path.suffix == ".duckdb":
        return repr(ask_file(path, "SELECT value FROM export_info WHERE name = 'content_sha256'")).encode()
    if path.suffix == ".hyper":
        return _held(path)
    return b"" if "/store/" in str(path) else path.read_bytes()


def _held(path: Path) -> bytes:
    """What a Tableau extract says it holds; the program that reads it leaves a log where it runs."""
    import tempfile

    import pantab

    query = "SELECT value FROM export_info WHERE name = 'content_sha256'"
    with tempfile.TemporaryDirectory() as logs:
        options = {"return_type": "pyarrow", "process_params": {"log_dir": logs}}
        return str(pantab.frame_from_hyper_query(path, query, **options)["value"][0]).encode()


def sealed(folder: Path) -> Mapping[str, Sequence[str]]:
    """Rows of every table of a store as text, sorted, without the time they were sealed at; no store, no tables."""
    from evalframe.contracts import contracts
    from evalframe.store import Store

    if not (folder / ".seals").is_dir():
        return {}
    store = Store.open(folder, read_only=True)
    tables = {name: store.read(name) for name in contracts() if (folder / name).is_dir()}
    return {
        name: sorted(str({k: v for k, v in row.items() if k != "created_at"}) for row in table.to_pylist())
        for name, table in tables.items()
        if len(table)
    }
