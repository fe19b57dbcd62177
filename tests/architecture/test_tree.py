"""The rooms and their size."""

from __future__ import annotations

import pytest

from tests.architecture.tree import ROOT, files, text

TOP = {"pyproject.toml", "README.md", "LICENSE", "data_contracts", "sql", "evalframe", "tests"}
LIMIT = 400
CODE = list(files(".py", ".sql"))


def test_the_top_level_is_what_the_house_has() -> None:
    found = {path.parts[0] for path in files() if not path.parts[0].startswith(".")}
    assert found <= TOP


def test_contracts_and_relations_are_data() -> None:
    suffixes = {path.suffix for path in files() if path.parts[0] in ("sql", "data_contracts")}
    assert suffixes <= {".sql", ".yaml"}


@pytest.mark.parametrize("path", CODE, ids=str)
def test_a_file_is_short_enough_to_read_at_once(path: object) -> None:
    assert len(text(path).splitlines()) <= LIMIT  # type: ignore[arg-type]


def test_every_folder_of_tests_is_a_package() -> None:
    folders = {path.parent for path in files(".py") if path.parts[0] == "tests"}
    assert {str(folder) for folder in folders if not (ROOT / folder / "__init__.py").is_file()} == set()


def test_every_module_says_what_it_is_for() -> None:
    modules = [path for path in files(".py") if text(path).strip()]
    assert [str(path) for path in modules if not text(path).lstrip().startswith(('"""', 'r"""', "#!"))] == []
