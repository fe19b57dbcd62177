"""All relations by name: the shipped ones of sql/ and those of a user's folders. A file is read when asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evalframe.errors import RelationError, UnknownName
from evalframe.relations.front_matter import read_relation
from evalframe.relations.relation import Layer, Relation
from evalframe.resources import folder

if TYPE_CHECKING:
    from evalframe.relations.syntax import SqlParser

PARAMETERS = "protocol_parameters"
"""The view (name, value) of the one protocol that a plan sees."""


class _Files(Mapping[str, Relation]):
    """Relations by name, each parsed on first use: a command pays for the closure it needs."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = paths
        self._read: dict[str, Relation] = {}

    def __getitem__(self, name: str) -> Relation:
        if name not in self._read:
            self._read[name] = read_relation(self._paths[name])
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


class Catalogue:
    """A graph of relations. A name that is no relation is the name of a contract table."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders
        self.relations: Mapping[str, Relation] = _Files(_paths(folders))

    def __getitem__(self, name: str) -> Relation:
        if name not in self.relations:
            raise unknown(name, self.relations)
        return self.relations[name]

    def closure(self, *names: str, given: frozenset[str] = frozenset()) -> tuple[Relation, ...]:
        """The named relations and all they read, each after its inputs; what is `given` as data is not entered."""
        done: dict[str, Relation] = {}
        path: list[str] = []

        def visit(name: str) -> None:
            if name in done or name in given:
                return
            if name in path:
                circle = " -> ".join([*path[path.index(name) :], name])
                raise RelationError(
                    "relations read one another in a circle",
                    expected="contract tables -> facts -> states -> metrics -> audit, compare, views",
                    found=circle,
                    where=str(self[name].path),
                    hint=f"edit {self[name].path.name}",
                )
            path.append(name)
            for read in self[name].inputs:
                if read in self.relations:
                    visit(read)
            path.pop()
            done[name] = self[name]

        for name in names:
            visit(name)
        return tuple(done.values())

    def tables(self, *names: str, given: frozenset[str] = frozenset()) -> tuple[str, ...]:
        """The contract tables that the closure reads, sorted."""
        read = {name for relation in self.closure(*names, given=given) for name in relation.inputs}
        return tuple(sorted(name for name in read if name not in self.relations and name not in given))

    def parameters(self, *names: str) -> tuple[str, ...]:
        """The protocol parameters that the closure reads, sorted."""
        return tuple(sorted({name for relation in self.closure(*names) for name in relation.parameters}))

    def of_layer(self, *layers: Layer) -> tuple[Relation, ...]:
        """All relations of these layers, by name. Reads every file."""
        return tuple(self.relations[name] for name in sorted(self.relations) if self.relations[name].layer in layers)

    def own(self) -> tuple[Relation, ...]:
        """The relations of the user's folders, by name."""
        return tuple(self.relations[name] for name in sorted(_paths(self.folders[1:])))

    def own_metrics(self, tables: Collection[str]) -> tuple[str, ...]:
        """The user's metrics that can be made from these contract tables, by name."""
        return tuple(
            each.name for each in self.own() if each.layer == "metric" and set(self.tables(each.name)) <= set(tables)
        )

    def check(self, parser: SqlParser) -> None:
        """Raise RelationError for the first rule of sql/ that a relation breaks. Reads and parses every file."""
        from evalframe.contracts import contracts
        from evalframe.relations.lint import check

        check(self, parser, contracts())

    def cluster_states(self, *metrics: str) -> tuple[Relation, ...]:
        """The states keyed by cluster_id that the metrics are made from: what a bootstrap resamples.

        They cut every path from a metric to a fact. Raises RelationError where a path holds none.
        """
        found: dict[str, Relation] = {}

        def visit(relation: Relation) -> None:
            if relation.layer == "fact":
                raise RelationError(
                    "a metric reads rows that no per-cluster state holds",
                    expected="every path from a metric to a fact passes a state with cluster_id in its grain",
                    found=f"{relation.name} below {', '.join(metrics)}",
                    where=str(relation.path),
                    hint="move the rows into a state per cluster",
                )
            if relation.layer == "state" and "cluster_id" in relation.grain:
                found[relation.name] = relation
                return
            for name in relation.inputs:
                if name in self.relations:
                    visit(self[name])

        for metric in metrics:
            visit(self[metric])
        return tuple(found.values())


@cache
def _catalogue(folders: tuple[Path, ...]) -> Catalogue:
    return Catalogue(folders)


def catalogue(*extra_dirs: Path | str | None) -> Catalogue:
    """The shipped relations and those of `extra_dirs`, cached; None adds none.

    A user's relation may not take a shipped one's name.
    """
    return _catalogue((folder("sql"), *(Path(given).resolve() for given in extra_dirs if given is not None)))


def _paths(folders: tuple[Path, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for root in folders:
        if not root.is_dir():
            raise RelationError(
                "the folder of relations does not exist",
                expected="a folder with .sql files",
                found=str(root),
                where=str(root),
                hint="evalframe explain METRIC --relations DIR",
            )
        for path in sorted(root.rglob("*.sql")):
            if path.stem in found:
                raise RelationError(
                    f"relation {path.stem} exists already",
                    expected=f"one file named {path.name}",
                    found=f"{found[path.stem]} and {path}",
                    where=str(path),
                    hint=f"rename {path}",
                )
            if path.stem == PARAMETERS:
                raise RelationError(
                    f"{PARAMETERS} is the plan's own view",
                    expected="another name",
                    found=path.name,
                    where=str(path),
                    hint=f"rename {path}",
                )
            found[path.stem] = path
    return found


def unknown(name: str, known: Mapping[str, object]) -> UnknownName:
    """The refusal of a relation name, with the nearest one that exists."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=3) or sorted(known)[:3]
    return UnknownName(
        f"there is no relation {name!r}",
        expected=", ".join(near) or "a relation of sql/",
        found=name,
        hint=f"evalframe explain {near[0]}" if near else "evalframe explain METRIC",
    )
