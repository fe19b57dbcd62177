"""`evalframe runs`: what a store holds."""

from __future__ import annotations

from evalframe.cli.common import Format, JsonOption, StoreOption, show, show_json


def runs(*, store: StoreOption, format: Format = Format.TABLE, json: JsonOption = False) -> None:
    """List the runs of a store, oldest first, with the protocols they were scored under.

    Example: evalframe runs --store results
    """
    from evalframe.verbs import drawing
    from evalframe.verbs.opened import open_store

    listed = open_store(store).runs()
    if json:
        show_json({"runs": drawing.rows(listed.table)}, "runs")
    else:
        show(listed.shown() if format is Format.TABLE else listed.table, format)
