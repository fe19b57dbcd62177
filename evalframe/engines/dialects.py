"""The text of a relation for an engine of another dialect, by way of sqlglot (extra `dialects`).

Only what stands above facts is promised to be portable. The text that is hashed and scored stays the one in sql/.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

from evalframe.errors import NotPortable, UsageError
from evalframe.relations.plan import Plan, quoted

DIALECTS = ("spark", "databricks", "bigquery", "snowflake", "postgres", "trino", "redshift", "tsql")
"""Names that sqlglot has; Spark alone is run by the tests."""


def render(sql: str, dialect: str, name: str = "the query") -> str:
    """`sql` in `dialect`.

    Raises UsageError without sqlglot or for a dialect that is not one of DIALECTS, NotPortable where the text cannot be
    read.
    """
    sqlglot = _sqlglot(dialect)
    try:
        # What a dialect cannot say would otherwise be left out with a warning, and the text would mean something else.
        written = sqlglot.transpile(
            sql, read="duckdb", write=dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE
        )
        return str(written[0])
    except sqlglot.errors.UnsupportedError as error:
        raise _not_portable(name, dialect, "a dialect that can say it, such as spark", error, "window frame") from None
    except sqlglot.errors.SqlglotError as error:
        raise _not_portable(name, dialect, "a query of the portable subset", error, "syntax") from None


def _not_portable(name: str, dialect: str, expected: str, error: Exception, reason: str) -> NotPortable:
    return NotPortable(
        f"{name} cannot be written in {dialect}",
        expected=expected,
        found=" ".join(str(error).split())[:300],
        hint=f"evalframe explain {name}",
        reason=reason,
    )


def rendered(plan: Plan, dialect: str) -> Mapping[str, str]:
    """Every relation of the plan as a `CREATE VIEW` of its own, in order, each with its parameters in it."""
    return {
        relation.name: render(
            f"CREATE VIEW {quoted(relation.name)} AS\n{plan.view(relation)}", dialect, name=relation.name
        )
        for relation in plan.relations
    }


def _sqlglot(dialect: str) -> ModuleType:
    if dialect not in DIALECTS:
        raise UsageError(
            f"there is no dialect {dialect!r}",
            expected=", ".join(DIALECTS),
            found=dialect,
            where="--dialect",
            hint="--dialect spark",
        )
    try:
        import sqlglot.errors
    except ImportError:
        raise UsageError(
            "other dialects need sqlglot",
            expected="the extra `dialects`",
            found="no sqlglot",
            where="--dialect",
            hint="pip install 'evalframe[dialects]'",
        ) from None
    return sqlglot
