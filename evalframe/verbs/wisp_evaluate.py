"""WISP: a trusted fitted checkpoint predicts labelled windows, which are then scored as saved predictions are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from evalframe.errors import UsageError
from evalframe.protocols import protocol
from evalframe.relations import catalogue
from evalframe.sources.classification import prediction_table
from evalframe.sources.signals import read_windows
from evalframe.store import Store
from evalframe.verbs.arguments import loosely
from evalframe.verbs.naming import axes, named
from evalframe.verbs.outputs import refusing, write_text
from evalframe.verbs.score import Run, Scored
from evalframe.verbs.score import score as score_run
from evalframe.verbs.spooling import spooled
from evalframe.verbs.wisp import PROTOCOL, VIEWS, Classified

if TYPE_CHECKING:
    from evalframe.inference.metadata import Layout


@loosely
def evaluate(
    checkpoint: Path | str,
    data: Path | str,
    *,
    output: Path | None = None,
    checkpoint_sha256: str | None = None,
    module: str | None = None,
    trust_pickle: bool = False,
    layout: Layout = "NTC",
    keys: Mapping[str, str] | None = None,
    device: str = "cpu",
    batch_size: int = 256,
    store: Path | str | None = None,
    run_id: str | None = None,
    tags: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
    relations: Path | None = None,
    force: bool = False,
) -> Classified:
    """Predict the windows of an NPZ with a fitted checkpoint and score them under `wisp-har/1`. Nothing is fitted.

    checkpoint: a `.pt2` archive, or a state dict for what `module` (module:factory) builds; its digest is checked
    against checkpoint_sha256 before anything is loaded. layout: axes of X in the file; where the checkpoint was fitted
    on the other order, the last two are exchanged. batch_size: windows of one call. The rest as in `score`; run_id is
    by default the checkpoint's name without suffix.
    Raises DigestMismatch (exit 5), CheckpointRefused, MetadataRefused, TorchMissing or InputError (exit 2),
    LabelRefused, CheckpointMismatch or ContractError (exit 4); nothing is written then.
    """
    from evalframe.inference.checkpoint import load
    from evalframe.inference.predict import predict

    checkpoint, data, layout = Path(checkpoint), Path(data), axes(layout)
    run_id = named(run_id, checkpoint.stem, tags)
    if batch_size < 1:
        raise UsageError(
            "a batch holds no window", expected="1 or more", found=str(batch_size), hint="--batch-size 256"
        )
    loaded = load(checkpoint, sha256=checkpoint_sha256, module=module, trust_pickle=trust_pickle, device=device)
    with spooled() as spool:
        windows = read_windows(data, run_id=run_id, classes=loaded.metadata.classes, keys=keys, spool=spool)
        predicted = predict(loaded, windows, layout=layout, batch_size=batch_size)
        run = Run(
            run_id,
            "wisp",
            windows.dataset_id,
            {**windows.tables, "class_predictions": prediction_table(run_id, predicted)},
            {
                **windows.inputs,
                "checkpoint_sha256": loaded.sha256,
                "metadata": loaded.metadata.to_json(),
                "module": module,
                "layout": layout,
                "batch_size": batch_size,
                "device": device.partition(":")[0],
            },
            tags or {},
        )

        def finished(scored: Scored) -> Classified:
            return Classified(
                **vars(scored),
                classes=windows.classes,
                data_sha256=windows.sha256,
                command="wisp evaluate",
                checkpoint_sha256=loaded.sha256,
            )

        scored = score_run(
            run,
            protocol(PROTOCOL),
            settings,
            store=None if store is None else Store.open(store, create=True),
            relations=catalogue(relations),
            also=VIEWS,
            admit=refusing(output, lambda scored: finished(scored).to_json(), force=force),
            origin="recomputed",
        )
        result = finished(scored)
    if output is not None:
        write_text(output, result.to_json(), force=force)
    return result
