"""What evalframe stands on: ranges with floors, versions for an install that can be repeated, licences."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging import supply

README = (supply.ROOT / "README.md").read_text(encoding="utf-8")
PINS = [
    Requirement(line)
    for line in (supply.ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def test_every_dependency_of_a_user_has_one_oldest_version() -> None:
    oldest = list(supply.floors())
    assert "duckdb==2.0" in oldest
    assert len({line.partition("==")[0] for line in oldest}) == len(oldest)


def test_every_dependency_is_pinned_inside_its_range() -> None:
    pinned = {canonicalize_name(one.name): next(iter(one.specifier)).version for one in PINS}
    for requirement in (one for lines in supply.declared().values() for one in lines):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not pinned"
        assert requirement.specifier.contains(version), f"{requirement} does not admit {version}"


def test_the_readme_lists_the_licence_of_everything_that_is_installed_for_a_user() -> None:
    rows = list(supply.licences())
    assert len(rows) > 10
    missing = [row for row in rows if row.rsplit("|", 2)[0] not in README]
    assert not missing, "python -m tests.packaging.supply licences says what the README should"
