"""The tree of commands. A command's module is imported when it is named, or when help lists it.

These modules hold arguments and drawing only, so that listing them loads nothing heavy. Their annotations are the
options and read with every command, so they do not stay text (no `annotations` from `__future__`): cyclopts would
compile each of them four times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

from cyclopts import App, Parameter

from evalframe.cli.common import one_format
from evalframe.cli.version import version

COMMANDS: dict[str, str] = {
    "demo": "demo:demo",
    "explain": "explain:explain",
    "validate": "validate:validate",
    "compare": "compare:compare",
    "leaderboard": "compare:leaderboard",
    "runs": "runs:runs",
    "sql": "sql:sql",
    "rescore": "rescore:rescore",
    "import": "import_files:import_",
    "export": "export:export",
    "report": "report:report",
    "completion": "completion:completion",
}
"""Name -> module of this folder and function in it."""

GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "wisp": (
        "WISP wearable-activity windows.",
        {
            "evaluate": "wisp:evaluate",
            "score": "wisp:score",
            "audit": "wisp:audit",
            "gate": "wisp:gate",
            "compare-exports": "wisp:compare_exports",
        },
    ),
    "floor": (
        "EasyCom floor events.",
        {
            "evaluate": "floor:evaluate",
            "convert-miniroada": "floor:convert_miniroada",
            "rasterize": "floor:rasterize",
            "audit-sheet": "floor:audit_sheet",
            "freeze": "floor:freeze",
        },
    ),
    "robometer": (
        "Robometer progress, failure detection and filtering.",
        {
            "evaluate": "robometer:evaluate",
            "score": "robometer:score",
            "compare-manifests": "robometer:compare_manifests",
            "import": "robometer:import_",
        },
    ),
    "kev": ("KEV choice questions.", {"score": "kev:score", "verify-metrics": "kev:verify_metrics"}),
    "audit": (
        "Check numbers against other implementations.",
        {"parity": "audit:parity", "values": "audit:values", "engines": "audit:engines"},
    ),
    "store": ("Look after a store.", {"verify": "store:verify", "gc": "store:gc", "withdraw": "store:withdraw"}),
}
"""Name -> title and commands."""


def tree(words: Sequence[str] | None = None) -> App:
    """The program for a command line; without one, all of it. Where the first word is a command or a group, no other is
    added: each costs half a millisecond and its module."""
    app = _app("evalframe", "Evaluation results that carry the identity of the protocol that made them.")
    named = {words[0]} & {*COMMANDS, *GROUPS} if words else set()
    _add(app, {name: place for name, place in COMMANDS.items() if not named or name in named})
    for group, (title, members) in GROUPS.items():
        if not named or group in named:
            below = _app(group, title)
            _add(below, members if words is None or group in words else {})
            app.command(below)
    return app


def _app(name: str, help: str) -> App:
    return App(
        name=name,
        help=help,
        version=version,
        default_parameter=Parameter(consume_multiple=True, negative=()),
        help_format="plaintext",
        suppress_keyboard_interrupt=False,  # `run` says what is left, and ends with 130
    )


def _add(app: App, commands: Mapping[str, str]) -> None:
    for name, place in commands.items():
        module, _, function = place.partition(":")
        app.command(getattr(import_module(f"{__package__}.{module}"), function), name=name, validator=one_format)
