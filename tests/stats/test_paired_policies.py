"""Twelve published cells of paired robot episodes: McNemar in each cell, Holm over the cells."""

import csv
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from scipy import stats

from evalframe.stats.holm import holm
from evalframe.stats.mcnemar import mcnemar
from tests.oracles import statistics as oracle


class Cell(NamedTuple):
    name: str
    pairs: list[tuple[int, int]]
    report: str


@pytest.fixture(scope="module")
def cells(real_data) -> list[Cell]:  # type: ignore[no-untyped-def]
    return [_cell(folder) for folder in sorted((real_data("pi0_paired") / "runs").iterdir())]


def _cell(folder: Path) -> Cell:
    with (folder / "results.csv").open(newline="") as file:
        pairs = [(int(row["baseline_success"]), int(row["cgvd_success"])) for row in csv.DictReader(file)]
    return Cell(folder.name, pairs, (folder / "comparison_report.md").read_text())


def test_the_pairs_are_the_published_ones(cells: list[Cell]) -> None:
    assert len(cells) == 12
    assert sum(len(cell.pairs) for cell in cells) == 2_400
    for cell in cells:
        published = re.findall(r"^\| (?:Baseline|CGVD) \| ([\d.]+)% \|", cell.report, re.MULTILINE)[:2]
        rates = [sum(pair[side] for pair in cell.pairs) / len(cell.pairs) for side in (0, 1)]
        assert [f"{100 * rate:.1f}" for rate in rates] == published, cell.name


def test_each_cell_and_the_family_of_cells(cells: list[Cell]) -> None:
    counts = [(sum(a > b for a, b in cell.pairs), sum(a < b for a, b in cell.pairs)) for cell in cells]
    tests = [mcnemar(b, c) for b, c in counts]
    for (b, c), test in zip(counts, tests, strict=True):
        assert test.exact == pytest.approx(stats.binomtest(b, b + c, 0.5).pvalue, rel=1e-12)
        exact, mid_p = oracle.mcnemar_p(b, c)
        assert (test.exact, test.mid_p) == (float(exact), float(mid_p))
    family = holm([test.exact for test in tests])
    assert family.m == 12
    assert family.adjusted == pytest.approx(oracle.holm_by_closed_testing([t.exact for t in tests]), abs=1e-15)
    # Three cells fall one by one, all of them where distractors look like the target; two survive the family.
    alone = {cell.name.split("_e20")[0] for cell, test in zip(cells, tests, strict=True) if test.exact <= 0.05}
    together = {
        cell.name.split("_e20")[0]
        for cell, p in zip(cells, family.adjusted, strict=True)
        if p is not None and p <= 0.05
    }
    assert alone == {"carrot__semantic__n8", "carrot__semantic__n10", "carrot__semantic__n14"}
    assert together <= alone
    assert "carrot__semantic__n8" in together
