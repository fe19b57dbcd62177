"""Who may import whom: the sentences in pyproject.toml, checked statically and by starting a process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.architecture.tree import ROOT

HEAVY = ("torch", "pyspark", "altair", "scipy", "polars", "pydantic", "ray", "sklearn", "pandas")


def test_dependencies_keep_the_sentences_of_pyproject() -> None:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
        "--no-cache",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[done.stdout.find("Contracts") :] + done.stderr


@pytest.mark.parametrize(
    "module", ["evalframe", "evalframe.contracts", "evalframe.relations", "evalframe.engines.duckdb", "evalframe.cli"]
)
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import json, sys, {module}; print(json.dumps(sorted(name for name in sys.modules if '.' not in name)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(set(HEAVY) & set(json.loads(done.stdout))) == []


def test_the_root_loads_next_to_nothing() -> None:
    code = "import sys, evalframe; print(*sorted(name for name in sys.modules if name.startswith('evalframe')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["evalframe"]


def test_relations_load_without_yaml_arrow_or_an_engine() -> None:
    code = "import sys, evalframe.relations; print(*sorted({'yaml', 'pyarrow', 'numpy', 'duckdb'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
