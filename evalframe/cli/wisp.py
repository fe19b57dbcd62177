"""`evalframe wisp ...`: arguments and drawing only."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from evalframe.cli.common import (
    ForceOption,
    Format,
    JsonOption,
    KeyOption,
    OptionalStore,
    RelationsOption,
    RunIdOption,
    SetOption,
    TagOption,
    pairs,
    put,
    say,
    show_rows,
)
from evalframe.cli.engine import engaged, limited

if TYPE_CHECKING:
    from evalframe.verbs.wisp_audit import Audited
    from evalframe.verbs.wisp_exports import Compared
    from evalframe.verbs.wisp_gate import Gated


class Layout(StrEnum):
    """Axes of the signals in a file: windows, then time and channels in this order."""

    NTC = "NTC"
    NCT = "NCT"


ModuleOption = Annotated[str | None, Parameter(help="module:factory that builds the model of a state dict.")]
TrustOption = Annotated[bool, Parameter(help="Let a checkpoint of your own run code while it is loaded.")]
LayoutOption = Annotated[Layout, Parameter(help="Axes of X in the data.")]
DeviceOption = Annotated[str, Parameter(help="Where the model runs.")]
BatchOption = Annotated[int, Parameter(help="Windows of one call of the model.")]
InventoryOption = Annotated[Path, Parameter(help="inventory.csv: one line per retained model.")]
FrozenOption = Annotated[Path, Parameter(help="run_results.csv: the frozen catalogue.")]
FolderOption = Annotated[Path, Parameter(help="Folder for the report.")]
ToleranceOption = Annotated[str, Parameter(help="Largest absolute difference that agrees.")]
BadOption = Annotated[Path | None, Parameter(help="Errata: a CSV of kind (run, scorer), name, reason.")]
ImportOption = Annotated[
    str | None, Parameter(help="Folder or URI of a store to import recorded values and findings into.")
]


@engaged
def score(
    *,
    predictions: Annotated[Path, Parameter(help="Saved predictions: .npz, .parquet, .arrow or .csv.")],
    output: Annotated[Path, Parameter(help="The JSON file to write.")],
    classes: Annotated[Path | None, Parameter(help="JSON list of all class names, in order.")] = None,
    key: KeyOption = None,
    store: OptionalStore = None,
    run_id: RunIdOption = None,
    tag: TagOption = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Score saved predictions: four metrics, per class, confusion matrix.

    Example: evalframe wisp score --predictions evalframe-demo/data/cnn.npz --output cnn.json --store results
    """
    from evalframe.verbs.wisp import score as score_predictions

    scored = score_predictions(
        predictions,
        output=output,
        classes=classes,
        keys=pairs(key, "--key"),
        store=store,
        run_id=run_id,
        tags=pairs(tag, "--tag"),
        settings=pairs(set_, "--set"),
        relations=relations,
        force=force,
    )
    if json:
        put(scored.to_json())
    else:
        show_rows(scored, format)
        say(f"wrote {output}")


@engaged
def evaluate(
    *,
    checkpoint: Annotated[Path, Parameter(help="A .pt2 archive, or a state dict with --module.")],
    data: Annotated[Path, Parameter(help="Labelled windows: an .npz of X, y, participant, time, classes.")],
    output: Annotated[Path, Parameter(help="The JSON file to write.")],
    checkpoint_sha256: Annotated[str | None, Parameter(help="What the checkpoint must be.")] = None,
    module: ModuleOption = None,
    trust_pickle: TrustOption = False,
    layout: LayoutOption = Layout.NTC,
    key: KeyOption = None,
    device: DeviceOption = "cpu",
    batch_size: BatchOption = 256,
    store: OptionalStore = None,
    run_id: RunIdOption = None,
    tag: TagOption = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Predict labelled windows with a fitted checkpoint and score them. Nothing is fitted, tuned or selected.

    Example: evalframe wisp evaluate --checkpoint fold0.pt2 --data fold0.npz --output fold0.json --store results
    """
    from evalframe.verbs.wisp_evaluate import evaluate as evaluated

    result = evaluated(
        checkpoint,
        data,
        output=output,
        checkpoint_sha256=checkpoint_sha256,
        module=module,
        trust_pickle=trust_pickle,
        layout=layout.value,
        keys=pairs(key, "--key"),
        device=device,
        batch_size=batch_size,
        store=store,
        run_id=run_id,
        tags=pairs(tag, "--tag"),
        settings=pairs(set_, "--set"),
        relations=relations,
        force=force,
    )
    if json:
        put(result.to_json())
    else:
        show_rows(result, format)
        say(f"wrote {output}")


@limited
def audit(
    *,
    inventory: InventoryOption,
    frozen: FrozenOption,
    output: FolderOption,
    tolerance: ToleranceOption = "1e-12",
    key: KeyOption = None,
    known_bad: BadOption = None,
    store: ImportOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Compare every sidecar with the frozen catalogue and explain what differs. Exit 5 if anything does.

    Example: evalframe wisp audit --inventory inventory.csv --frozen run_results.csv --output audit
    """
    from evalframe.verbs.wisp_audit import audit as audited

    result = audited(
        inventory,
        frozen,
        output=output,
        tolerance=tolerance,
        keys=pairs(key, "--key"),
        known_bad=known_bad,
        store=store,
        force=force,
    )
    return _shown(result, output, format, json)


@limited
def gate(
    *,
    inventory: InventoryOption,
    frozen: FrozenOption,
    output: FolderOption,
    full_inference: Annotated[
        list[str] | None, Parameter(help="all, or dataset=NAME,fold=0: whose data are predicted in full.")
    ] = None,
    require: Annotated[list[str] | None, Parameter(help="GATE=all or GATE=NUMBER: models it must be run on.")] = None,
    module: ModuleOption = None,
    trust_pickle: TrustOption = False,
    layout: LayoutOption = Layout.NTC,
    key: KeyOption = None,
    device: DeviceOption = "cpu",
    batch_size: BatchOption = 256,
    tolerance: ToleranceOption = "1e-12",
    known_bad: BadOption = None,
    store: ImportOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Run the four gates, kept apart. Exit 1 if one failed, or was required and did not run.

    Example: evalframe wisp gate --inventory inventory.csv --frozen run_results.csv --output gates
    """
    from evalframe.verbs.wisp_gate import gate as gated

    result = gated(
        inventory,
        frozen,
        output=output,
        full_inference=full_inference or (),
        require=pairs(require, "--require"),
        module=module,
        trust_pickle=trust_pickle,
        layout=layout.value,
        keys=pairs(key, "--key"),
        device=device,
        batch_size=batch_size,
        tolerance=tolerance,
        known_bad=known_bad,
        store=store,
        force=force,
    )
    return _shown(result, output, format, json)


def compare_exports(
    a: Annotated[Path, Parameter(help="One export: an .npz of labelled windows.")],
    b: Annotated[Path, Parameter(help="The other.")],
    /,
    *,
    output: Annotated[Path, Parameter(help="The JSON file to write.")],
    key: KeyOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Compare two exports of one data set, aspect by aspect. Exit 5 if anything but time values differs.

    Example: evalframe wisp compare-exports frozen.npz hub.npz --output exports.json
    """
    from evalframe.verbs.wisp_exports import compare_exports as compared

    return _shown(compared(a, b, output=output, keys=pairs(key, "--key"), force=force), output, format, json)


def _shown(result: "Audited | Gated | Compared", output: Path, format: Format, json: bool) -> int:
    """Print a result, and say where it was written; its exit code."""
    if json:
        put(result.to_json())
    else:
        show_rows(result, format, result.exit_code)
        say(f"wrote {output}")
    return result.exit_code
