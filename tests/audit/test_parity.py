"""The KEV metrics beside a reference: agreement, what is told about it, and copies that were tampered with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evalframe.audit import parity, parity_kev
from evalframe.audit.parity_ours import Values, values
from evalframe.audit.parity_process import Limits
from evalframe.cli.run import run
from evalframe.errors import DigestMismatch, FileUnreadable, ReferenceRefused, UsageError
from evalframe.verbs.parity import Verified, verify_metrics
from tests.audit.parity_references import edit, kev_copy, pins

PUBLISHED = (
    "accuracy", "nll", "brier", "ece", "mean_confidence", "confidence_bias", "confident_error_rate", "coverage_at_0_9",
    "accuracy_at_0_9", "coverage_at_error_0.01", "coverage_at_error_0.05", "score_mae", "rps",
)  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def one_side() -> Iterator[None]:
    """The seeded batches and our side of them depend on no reference: made once for all copies."""
    known: dict[tuple[int, tuple[str, ...]], Values] = {}

    def once(kind: str, batches: Any, metrics: tuple[str, ...], parameters: Any) -> Values:
        if (len(batches), metrics) not in known:
            known[len(batches), metrics] = values(kind, batches, metrics, parameters)
        return known[len(batches), metrics]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parity_kev, "choice_batches", cache(parity_kev.choice_batches))
        patch.setattr(parity, "values", once)
        yield


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Verified:
    root = kev_copy(tmp_path_factory.mktemp("reference"))
    return verify_metrics(root, pins=pins(root))


def test_every_published_metric_agrees_on_five_thousand_rows(verified: Verified) -> None:
    rows = {row["metric"]: row for row in verified.to_pylist() if row["function"] == "metrics(rows)"}
    assert {metric: rows[metric]["outcome"] for metric in PUBLISHED} == dict.fromkeys(PUBLISHED, "agrees")
    assert {rows[metric]["n_compared"] + rows[metric]["n_undefined"] for metric in PUBLISHED} == {100}
    assert all(rows[metric]["largest_difference"] <= 1e-12 for metric in PUBLISHED)
    assert verified.exit_code == 0
    assert verified.body()["samples"]["rows"]["rows"] == 5000


def test_pairs_agree_exactly(verified: Verified) -> None:
    rows = [row for row in verified.to_pylist() if row["exercise"] == "pairs"]
    assert len(rows) == 6
    assert {(row["outcome"], row["largest_difference"]) for row in rows} == {("agrees", 0.0)}
    told = "ten complete pairs, five with changed right options and five with the same"
    assert verified.body()["samples"]["pairs"] == {"batches": 1, "rows": 20, "inputs": told}


def test_the_report_names_both_sides(verified: Verified) -> None:
    body = json.loads(verified.to_json())
    assert [pin["file"] for pin in body["reference"]] == ["kev/evaluate.py", "kev/benchmark.py", "kev/contrastive.py"]
    assert body["protocol"]["name"] == "kev-choice"
    assert body["protocol"]["version"] == "1"
    assert set(PUBLISHED) <= set(body["metric_fingerprints"])
    assert "ece" in body["relation_digests"]
    assert body["numpy_version"].count(".") == 2
    assert body["reference_literals"] == {"FLOOR": 1e-9, "CONFIDENT": 0.9}


def test_the_scope_is_what_ran(verified: Verified) -> None:
    scope = verified.body()["scope"]
    assert "nll: 100 values of metrics(rows) compared, 0 undefined on both sides, 0 mismatches" in scope["shown"]
    silent = " / ".join(scope["not_shown"])
    assert "selective_accuracy_0.5: metrics(rows) does not give it back" in silent
    assert "not looked at: metrics: n" in silent
    assert "family_balanced_accuracy" in silent


# ---- tampered copies ------------------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return kev_copy(tmp_path)


def test_one_byte_is_noticed_before_anything_runs(root: Path) -> None:
    fresh = pins(root)
    edit(root, "kev/contrastive.py", "pairs of siblings.", "pairs of siblings!")
    with pytest.raises(DigestMismatch) as caught:
        verify_metrics(root, pins=fresh)
    assert caught.value.exit_code == 5
    assert "kev/contrastive.py" in caught.value.what


def test_files_that_are_not_the_published_ones_are_refused_without_pins(root: Path) -> None:
    with pytest.raises(DigestMismatch) as caught:
        verify_metrics(root)
    assert "1b20e3f9edf417aa8dae924b1526e52f74b710cadf7213c5ec68334f6e7f8fe1" in caught.value.expected


def test_a_missing_file_is_named(root: Path) -> None:
    fresh = pins(root)
    (root / "kev/evaluate.py").unlink()
    with pytest.raises(FileUnreadable, match=r"evaluate\.py"):
        verify_metrics(root, pins=fresh)


SIGNS = {
    "budget met exactly": ("kev/benchmark.py", "if wrong <= budget", "if wrong < budget", {"coverage_at_error_0.05"}),
    "equal confidences in another order": (
        "kev/benchmark.py",
        "lambda at: -confidences[at]",
        "lambda at: (-confidences[at], -at)",
        {"coverage_at_error_0.01", "coverage_at_error_0.05"},
    ),
    "lower edge of a bin": ("kev/evaluate.py", "if c >= lower", "if c > lower", {"ece"}),
    "upper edge of a bin": ("kev/evaluate.py", "c < upper or", "c <= upper or", {"ece"}),
    "confident from": ("kev/benchmark.py", "confidence >= CONFIDENT", "confidence > CONFIDENT", {"coverage_at_0_9"}),
    "level below": ("kev/benchmark.py", "(label <= k)", "(label < k)", {"rps"}),
    "keys differ": ("kev/contrastive.py", 'said(pair["a"]) != said', 'said(pair["a"]) == said', {"flip_rate"}),
}


@pytest.mark.parametrize("what", SIGNS)
def test_one_comparison_sign_with_a_fresh_pin_is_a_mismatch(
    root: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file, old, new, noticed = SIGNS[what]
    edit(root, file, old, new)
    out = root / "out.json"
    code = run(["kev", "verify-metrics", "--kev-root", str(root), "--pins", str(pins(root)), "--output", str(out)])
    assert code == 5
    body = json.loads(out.read_text(encoding="utf-8"))
    assert not body["passed"]
    assert noticed <= {each["metric"] for each in body["comparisons"] if each["outcome"] == "differs"}
    assert "differ" in capsys.readouterr().out


HOSTILE = {
    "imports another module": ("    import os\n    os.listdir('.')", "imports os"),
    "imports by another way": ("    __import__('os').listdir('.')", "os"),
    "imports a part of numpy's surroundings": ("    from numpy.lib import os", "numpy.lib"),
    "opens a file": ("    open('/etc/hostname').read()", "open"),
    "opens a file through numpy": ("    np.load('/etc/hostname')", "/etc/hostname"),
    "writes a file through numpy": ("    np.save('{left}', np.zeros(3))", "open"),
    "swallows the refusal": (
        "    try:\n        np.load('/etc/hostname')\n    except Exception:\n        pass",
        "hostname",
    ),
    "reaches into the interpreter": ("    ().__class__.__base__.__subclasses__()", "__"),
    "changes what it is given": ("    confidences[0] = 0.5", "changes the inputs"),
    "allocates ten gigabytes": ("    np.ones(10 * 2**30, np.uint8)", "memory"),
    "allocates ten gigabytes of text": ("    'x' * (10 * 2**30)", "memory"),
    "gives back what is no number": ("    return lambda: 0", "gives back a function"),
    "calls what is not pinned": ("    return another(confidences)", "another"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_function_that_does_more_than_compute_is_refused(root: Path, what: str) -> None:
    body, told = HOSTILE[what]
    left = root / "left.npy"
    heading = '    """Ten bins of equal width, closed on the left, the last one on both sides."""'
    edit(root, "kev/evaluate.py", heading, body.format(left=left))
    with pytest.raises(ReferenceRefused) as caught:
        verify_metrics(root, pins=pins(root))
    assert caught.value.exit_code == 5
    assert told in caught.value.what + caught.value.found
    assert not left.exists()


@pytest.mark.parametrize("body", ["    while True:\n        pass", "    list(map(abs, iter(int, 1)))"])
def test_a_function_that_never_ends_is_ended(root: Path, body: str) -> None:
    heading = '    """Options are compared by their keys. A pair is relevant where the right keys differ."""'
    edit(root, "kev/contrastive.py", heading, body)
    with pytest.raises(ReferenceRefused, match="time"):
        verify_metrics(root, pins=pins(root), limits=Limits(seconds=1))


def test_module_code_never_runs(root: Path) -> None:
    mark = root / "ran"
    edit(
        root,
        "kev/evaluate.py",
        'raise RuntimeError("the module was run")',
        f"open({str(mark)!r}, 'w').close()\n\n\ndef another():\n    pass\n",
    )
    fresh = json.loads(pins(root).read_text(encoding="utf-8"))
    only = root / "only.json"
    only.write_text(json.dumps(fresh[:1]), encoding="utf-8")
    found = verify_metrics(root, pins=only)
    assert found.exit_code == 0
    assert [row["metric"] for row in found.to_pylist()] == ["ece"]
    assert not mark.exists()


def test_default_values_reach_nothing(root: Path) -> None:
    left = root / "left.npy"
    edit(
        root,
        "kev/evaluate.py",
        "def ece(confidences, correct):",
        f"def ece(confidences, correct, x=np.save({str(left)!r}, 1)):",
    )
    with pytest.raises(ReferenceRefused, match="cannot be run"):
        verify_metrics(root, pins=pins(root))
    assert not left.exists()


def test_a_decorated_function_is_refused(root: Path) -> None:
    edit(root, "kev/evaluate.py", "def ece(", "@np.vectorize\ndef ece(")
    with pytest.raises(ReferenceRefused, match="decorated"):
        verify_metrics(root, pins=pins(root))


def test_a_function_defined_twice_is_refused(root: Path) -> None:
    edit(
        root,
        "kev/evaluate.py",
        'raise RuntimeError("the module was run")',
        "def ece(confidences, correct):\n    return 0",
    )
    with pytest.raises(ReferenceRefused, match="not taken"):
        verify_metrics(root, pins=pins(root))


@pytest.mark.parametrize(
    "entries",
    [
        [],
        {},
        [{"file": "kev/evaluate.py", "functions": ["ece"]}],
        [{"file": "../evaluate.py", "sha256": "0" * 64, "functions": ["ece"]}],
        [{"file": "kev/evaluate.py", "sha256": "0" * 63, "functions": ["ece"]}],
        [{"file": "kev/evaluate.py", "sha256": "0" * 64, "functions": []}],
        [{"file": name, "sha256": "0" * 64, "functions": ["ece"]} for name in ("a.py", "b.py")],
    ],
)
def test_pins_that_cannot_be_meant_are_refused(tmp_path: Path, entries: object) -> None:
    path = tmp_path / "pins.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    with pytest.raises(UsageError, match="pins"):
        verify_metrics(tmp_path, pins=path)
