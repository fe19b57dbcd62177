"""`wisp gate` again in a store in which an earlier one was killed."""

from __future__ import annotations

from pathlib import Path

from evalframe.store import Store
from tests.audit.releases import release
from tests.audit.test_gate import gate


def test_a_run_whose_writer_was_killed_before_its_results_gets_them(tmp_path: Path) -> None:
    made = release(tmp_path, models=2)
    gate(made, store=tmp_path / "store")
    (seal,) = (tmp_path / "store" / ".seals" / "results").rglob(f"*{next(iter(made.lines))}*")
    seal.unlink()
    gate(made, store=tmp_path / "store")
    store = Store.open(tmp_path / "store")
    assert len(store.scored()) == 2
    store.gc()
    assert store.verify().to_pylist() == []
