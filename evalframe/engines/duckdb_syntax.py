"""From DuckDB's parse tree (`json_serialize_sql`) to what lint asks: inputs, names, columns, constructs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalframe.relations.syntax import Construct, Syntax, Use

Node = Mapping[str, Any]

READING_NODES = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""Query nodes that only read. Since 2.0 a CTE may hold COPY or INSERT, in a statement that calls itself SELECT."""

PURE_TABLE_FUNCTIONS = frozenset({"unnest", "range", "generate_series"})
"""Table functions that read nothing but their arguments."""

_ORDER_DEPENDENT = frozenset({"first", "last", "arbitrary"})
_UNSTABLE = frozenset(
    {
        *(
            "random",
            "setseed",
            "uuid",
            "gen_random_uuid",
            "uuidv4",
            "uuidv7",
            "nextval",
            "current_setting",
            "getvariable",
        ),
        *("now", "today", "get_current_timestamp", "transaction_timestamp", "current_date", "current_timestamp"),
        *("current_time", "localtimestamp", "localtime", "current_user", "session_user", "version", "txid_current"),
    }
)
_DOUBLE_FUNCTIONS = frozenset({"sqrt", "ln", "exp", "power", "pow", "log10", "log2"})
_SAME_TYPE_FUNCTIONS = frozenset(
    {"abs", "greatest", "least", "coalesce", "nullif", "sum", "min", "max", "avg", "+", "-", "*", "/"}
)


def syntax_of(statement: Node, sql: str) -> Syntax:
    """The Syntax of one statement of the parse tree of `sql`."""
    walk = _Walk(sql)
    root = statement["node"]
    walk.visit(root, frozenset())
    return Syntax(
        inputs=frozenset(walk.inputs), ctes=tuple(walk.ctes), columns=tuple(_columns(root)), uses=tuple(walk.uses)
    )


def unparsed(parsed: Mapping[str, Any], sql: str) -> str:
    """Why the text is not SQL, and where: the parser counts bytes from 0, people count lines and columns from 1."""
    message = str(parsed["error_message"])
    if "position" not in parsed:
        return message
    before = sql.encode()[: int(parsed["position"])].decode(errors="ignore").split("\n")
    return f"{message}, in line {len(before)}, column {len(before[-1]) + 1}"


def writes(statement: Node) -> str | None:
    """What the statement does beside reading tables: the node or table function, None for a plain query."""
    for node in _nodes(statement):
        kind = str(node.get("type", ""))
        if kind.endswith("_NODE") and kind not in READING_NODES:
            return kind.removesuffix("_NODE").removesuffix("_QUERY")
        if kind == "TABLE_FUNCTION" and node["function"]["function_name"] not in PURE_TABLE_FUNCTIONS:
            return f"{node['function']['function_name']}(...)"
    return None


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Mapping):
        yield value
        for inner in value.values():
            yield from _nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _nodes(inner)


class _Walk:
    """One pass over the tree; `scope` holds the CTE names that a table name may mean at that place."""

    def __init__(self, sql: str) -> None:
        self._sql = sql.encode()  # locations count bytes
        self.inputs: set[str] = set()
        self.ctes: list[str] = []
        self.uses: list[Use] = []

    def visit(self, value: Any, scope: frozenset[str]) -> None:
        if isinstance(value, list):
            for inner in value:
                self.visit(inner, scope)
        elif isinstance(value, Mapping):
            scope = self._enter_ctes(value, scope)
            self._note(value, scope)
            for key, inner in value.items():
                if key == "child" and value.get("class") == "CAST" and _is_number(inner):
                    continue  # a literal that says its type
                if key == "select_list" and (value.get("from_table") or {}).get("type") == "EXPRESSION_LIST":
                    continue  # VALUES (...) is parsed as a SELECT * that nobody wrote
                if key != "cte_map":
                    self.visit(inner, scope)

    def _enter_ctes(self, node: Node, scope: frozenset[str]) -> frozenset[str]:
        for entry in (node.get("cte_map") or {}).get("map", ()):
            name, query = entry["key"], entry["value"]["query_node"]
            own = {name} if query.get("type") == "RECURSIVE_CTE_NODE" else set()
            self.ctes.append(name)
            self.visit(query, scope | own)
            scope |= {name}
        return scope

    def _note(self, node: Node, scope: frozenset[str]) -> None:
        kind = node.get("type")
        if kind == "BASE_TABLE":
            self._note_table(node, scope)
        elif kind == "TABLE_FUNCTION":
            name = node["function"]["function_name"]
            if name not in PURE_TABLE_FUNCTIONS:
                self._use("file or engine function", node, f"{name}(...)")
        elif kind == "JOIN" and node.get("ref_type") in ("ASOF", "POSITIONAL"):
            self._use("asof join" if node["ref_type"] == "ASOF" else "positional join", node)
        elif isinstance(kind, str) and kind.endswith("_NODE") and kind not in READING_NODES:
            self._use("not a select", node, kind.removesuffix("_NODE"))
        if kind == "SELECT_NODE" and node.get("aggregate_handling") == "FORCE_AGGREGATES":
            self._use("group by all", node, "GROUP BY ALL")
        if node.get("null_order") == "ORDER_DEFAULT":
            self._use("nulls unplaced", node["expression"])
        self._note_expression(node)

    def _note_table(self, node: Node, scope: frozenset[str]) -> None:
        qualifiers = [node.get("catalog_name"), node.get("schema_name")]
        path = [part for part in (*qualifiers, node["table_name"]) if part]
        if len(path) > 1 or path[0] not in scope:
            self.inputs.add(".".join(path))

    def _note_expression(self, node: Node) -> None:
        match node.get("class"):
            case "STAR":
                self._use("star", node)
            case "PARAMETER":
                self._use("bind parameter", node)
            case "LAMBDA":
                self._use("lambda", node)
            case "OPERATOR" if node.get("type") == "ARRAY_SLICE":
                self._use("slice", node)
            case "CONSTANT" if _is_number(node) and "e" not in node["literal"]["text"].lower():
                self._use("decimal literal", node)
            case "COLUMN_REF" if len(node["column_names"]) == 1 and node["column_names"][0].lower() in _UNSTABLE:
                self._use("unstable value", node)
            case "FUNCTION":
                self._note_function(node)

    def _note_function(self, node: Node) -> None:
        name = node["function_name"].lower()
        if name == "//":
            self._use("integer division", node)
        elif name == "/" and not any(_is_double(side) for side in _arguments(node)):
            self._use("uncast division", node)
        elif name in _UNSTABLE:
            self._use("unstable value", node)
        elif name in _ORDER_DEPENDENT:
            self._use("order-dependent aggregate", node)
        if (node.get("order_bys") or {}).get("orders"):
            self._use("ordered aggregate", node)

    def _use(self, construct: Construct, node: Node, text: str | None = None) -> None:
        start, length = node.get("query_location", 0), node.get("query_location_length", 0)
        found = self._sql[start : start + length].decode(errors="replace") if start < len(self._sql) else ""
        self.uses.append(Use(construct, text or " ".join(found.split())))


def _is_number(node: Any) -> bool:
    """A numeric literal with a decimal point: DuckDB makes a DECIMAL of it, other engines a double."""
    literal = node.get("literal") if isinstance(node, Mapping) else None
    return literal is not None and literal["kind"] == "NUMERIC"


def _arguments(node: Node) -> list[Node]:
    return [argument.get("expression", argument) for argument in node.get("arguments") or node.get("children") or ()]


def _is_double(node: Node) -> bool:
    """Whether the text alone says that this is a DOUBLE; a column's type is not known here."""
    match node.get("class"):
        case "CAST":
            return str(node["type_expr"]["type_name"]).lower() in ("double", "float8")
        case "CONSTANT":
            return _is_number(node) and "e" in node["literal"]["text"].lower()
        case "FUNCTION" | "WINDOW" if node["function_name"].lower() in _DOUBLE_FUNCTIONS:
            return True
        case "FUNCTION" | "WINDOW" if node["function_name"].lower() in _SAME_TYPE_FUNCTIONS:
            return any(_is_double(argument) for argument in _arguments(node))
        case "OPERATOR" if node.get("type") in ("OPERATOR_COALESCE", "OPERATOR_NULLIF"):
            return any(_is_double(child) for child in node.get("children", ()))
        case "CASE":
            outcomes = [check["then_expr"] for check in node["case_checks"]] + [node["else_expr"]]
            return any(_is_double(outcome) for outcome in outcomes)
    return False


def _columns(node: Node) -> Iterator[str | None]:
    """Result names of a query; a set operation takes those of its first side."""
    while "select_list" not in node:
        node = node["children"][0] if node.get("children") else node.get("left") or node["child"]
    for item in node["select_list"]:
        name = item.get("alias") or None
        if name is None and item.get("class") == "COLUMN_REF":
            name = item["column_names"][-1]
        yield name
