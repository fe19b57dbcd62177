"""The tree of commands. A command's module is imported only when it is called or asked for help."""

from __future__ import annotations

from cyclopts import App, Parameter

from evalframe.cli.version import version


def _app(name: str, help: str) -> App:
    return App(
        name=name,
        help=help,
        version=version,
        default_parameter=Parameter(consume_multiple=True, negative=()),
        help_format="plaintext",
    )


# The help line stands here, not in the module, so that the list of commands is printed without importing any.
COMMANDS = {
    "explain": ("evalframe.cli.explain:explain", "What a metric, protocol or table means."),
    "validate": ("evalframe.cli.validate:validate", "Check a file against the contract of a table."),
    "runs": ("evalframe.cli.runs:runs", "List the runs of a store."),
    "sql": ("evalframe.cli.sql:sql", "Ask a store a question in SQL (read-only)."),
    "rescore": ("evalframe.cli.rescore:rescore", "Score stored runs again under the installed definitions."),
}
GROUPS = {
    "wisp": (
        "WISP wearable-activity windows.",
        {"score": ("evalframe.cli.wisp:score", "Score saved predictions: four metrics, per class, confusion matrix.")},
    ),
    "store": (
        "Look after a store.",
        {
            "verify": ("evalframe.cli.store:verify", "Check every sealed file against its seal."),
            "gc": ("evalframe.cli.store:gc", "Remove what killed writers left behind."),
            "withdraw": ("evalframe.cli.store:withdraw", "Hide a run behind a sealed reason."),
        },
    ),
}

app = _app("evalframe", "Evaluation results that carry the identity of the protocol that made them.")
for _name, (_where, _help) in COMMANDS.items():
    app.command(_where, name=_name, help=_help)
for _group, (_title, _members) in GROUPS.items():
    _sub = _app(_group, _title)
    for _name, (_where, _help) in _members.items():
        _sub.command(_where, name=_name, help=_help)
    app.command(_sub)
