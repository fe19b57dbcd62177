"""The tree of commands. Their modules hold arguments and drawing only, so that listing them loads nothing heavy."""

from __future__ import annotations

from collections.abc import Callable

from cyclopts import App, Parameter

from evalframe.cli import (
    audit,
    compare,
    demo,
    explain,
    export,
    floor,
    kev,
    report,
    rescore,
    robometer,
    runs,
    sql,
    store,
    validate,
    wisp,
)
from evalframe.cli.version import version


def _app(name: str, help: str) -> App:
    return App(
        name=name,
        help=help,
        version=version,
        default_parameter=Parameter(consume_multiple=True, negative=()),
        help_format="plaintext",
    )


COMMANDS: dict[str, Callable[..., object]] = {
    "demo": demo.demo,
    "explain": explain.explain,
    "validate": validate.validate,
    "compare": compare.compare,
    "leaderboard": compare.leaderboard,
    "runs": runs.runs,
    "sql": sql.sql,
    "rescore": rescore.rescore,
    "export": export.export,
    "report": report.report,
}
GROUPS: dict[str, tuple[str, dict[str, Callable[..., object]]]] = {
    "wisp": (
        "WISP wearable-activity windows.",
        {
            "evaluate": wisp.evaluate,
            "score": wisp.score,
            "audit": wisp.audit,
            "gate": wisp.gate,
            "compare-exports": wisp.compare_exports,
        },
    ),
    "floor": (
        "EasyCom floor events.",
        {
            "evaluate": floor.evaluate,
            "convert-miniroada": floor.convert_miniroada,
            "rasterize": floor.rasterize,
            "audit-sheet": floor.audit_sheet,
            "freeze": floor.freeze,
        },
    ),
    "robometer": (
        "Robometer progress, failure detection and filtering.",
        {
            "evaluate": robometer.evaluate,
            "score": robometer.score,
            "compare-manifests": robometer.compare_manifests,
            "import": robometer.import_,
        },
    ),
    "kev": ("KEV choice questions.", {"score": kev.score, "verify-metrics": kev.verify_metrics}),
    "audit": (
        "Check numbers against other implementations.",
        {"parity": audit.parity, "values": audit.values, "engines": audit.engines},
    ),
    "store": ("Look after a store.", {"verify": store.verify, "gc": store.gc, "withdraw": store.withdraw}),
}

app = _app("evalframe", "Evaluation results that carry the identity of the protocol that made them.")
for _name, _command in COMMANDS.items():
    app.command(_command, name=_name)
for _group, (_title, _members) in GROUPS.items():
    _sub = _app(_group, _title)
    for _name, _command in _members.items():
        _sub.command(_command, name=_name)
    app.command(_sub)
