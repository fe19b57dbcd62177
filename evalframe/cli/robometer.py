"""`evalframe robometer ...`: arguments and drawing only."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from evalframe.cli.common import (
    ForceOption,
    Format,
    JsonOption,
    OptionalStore,
    RelationsOption,
    RunIdOption,
    SetOption,
    StoreOption,
    TagOption,
    pairs,
    put,
    say,
    show_json,
    show_rows,
)
from evalframe.cli.engine import engaged

_Protocol = Literal["robometer-ind", "robometer-ood", "robometer-filtering-top50"]


@engaged
def evaluate(
    *,
    predictor: Annotated[str, Parameter(help="module:factory, called once per checkpoint; see inference/progress.py.")],
    dataset: Annotated[Path, Parameter(help="processed_dataset folder, as save_to_disk writes it.")],
    task_registry: Annotated[Path, Parameter(help="task_registry.json.")],
    split: Annotated[Literal["test_ind", "test_ood"], Parameter(help="Which tasks, and so which protocol.")],
    checkpoint_root: Annotated[Path, Parameter(help="Folder of the checkpoint-<step> folders.")],
    base_model: Annotated[Path, Parameter(help="The checkpoint that is step 0.")],
    output: Annotated[Path, Parameter(help="Folder to write; workers share it, and a rerun goes on in it.")],
    steps: Annotated[list[int], Parameter(help="Steps to evaluate; 0 is the base model.")],
    setting: Annotated[str, Parameter(help="Name of the training setting.")],
    worker: Annotated[str, Parameter(help="Whose claims these are; give each worker its own.")] = "worker",
    take_over: Annotated[bool, Parameter(help="Take steps that another worker has claimed.")] = False,
    batch_size: Annotated[int, Parameter(help="Queries asked at a time.")] = 4,
    device: Annotated[str, Parameter(help="Device, as the predictor understands it.")] = "cpu",
    dry_run: Annotated[bool, Parameter(help="Everything but the model; writes nothing.")] = False,
    robometer_repo: Annotated[Path | None, Parameter(help="Checkout handed to the predictor.")] = None,
    store: OptionalStore = None,
    run_id: RunIdOption = None,
    tag: TagOption = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Evaluate checkpoints on a frozen split: progress, failure calls, filtering; resumable.

    Example: evalframe robometer evaluate --predictor my_model:factory --dataset processed_dataset --task-registry
    task_registry.json --split test_ind --checkpoint-root runs/a --base-model base --output out --steps 0 100
    --setting A
    """
    from evalframe.verbs import robometer

    done = robometer.evaluate(
        predictor=predictor,
        dataset=dataset,
        task_registry=task_registry,
        split=split,
        checkpoint_root=checkpoint_root,
        base_model=base_model,
        output=output,
        steps=steps,
        setting=setting,
        worker=worker,
        take_over=take_over,
        batch_size=batch_size,
        device=device,
        dry_run=dry_run,
        robometer_repo=robometer_repo,
        settings=pairs(set_, "--set"),
        relations=relations,
        store=store,
        run_id=run_id,
        tags=pairs(tag, "--tag"),
    )
    for step in done.missing():
        say(f"step {step}: there is no {checkpoint_root / f'checkpoint-{step}'} with config.json")
    if json:
        put(done.to_json())
    else:
        show_rows(done, format)


@engaged
def score(
    *,
    traces: Annotated[Path, Parameter(help="Predicted traces of one run, Parquet.")],
    targets: Annotated[Path, Parameter(help="Target progress and outcomes, Parquet.")],
    protocol: Annotated[_Protocol, Parameter(help="The failure rule and the filtering that go together.")],
    output: Annotated[Path, Parameter(help="Folder to write steps/ into.")],
    top_k: Annotated[int | None, Parameter(help="Candidates that filtering keeps.")] = None,
    window: Annotated[Literal["any", "last"] | None, Parameter(help="Which windows may call a failure.")] = None,
    store: OptionalStore = None,
    run_id: RunIdOption = None,
    tag: TagOption = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Score saved traces: progress errors, failure calls and filtering, per step.

    Example: evalframe robometer score --traces traces.parquet --targets targets.parquet --protocol robometer-ind
    --output scored --store results
    """
    from evalframe.verbs import robometer

    scored = robometer.score(
        traces,
        targets,
        protocol=protocol,
        output=output,
        top_k=top_k,
        window=window,
        settings=pairs(set_, "--set"),
        relations=relations,
        store=store,
        run_id=run_id,
        tags=pairs(tag, "--tag"),
        force=force,
    )
    if json:
        put(scored.to_json())
    else:
        show_rows(scored, format)
        say(f"wrote {output}")


def compare_manifests(
    first: Annotated[Path, Parameter(help="An output folder, or its run_manifest.json.")],
    second: Annotated[Path, Parameter(help="Another.")],
    /,
    *,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> int:
    """Say field by field how two output folders differ; exit 3 if protocol or selection does.

    Example: evalframe robometer compare-manifests results/a results/b
    """
    from evalframe.verbs import robometer

    found = robometer.compare_manifests(first, second)
    if json:
        put(found.to_json())
    else:
        show_rows(found, format, found.exit_code)
    return found.exit_code


def import_(
    folder: Annotated[Path, Parameter(help="An output folder of evaluate or score.")],
    /,
    *,
    store: StoreOption,
    run_id: RunIdOption = None,
    tag: TagOption = None,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Seal every finished step of an output folder in a store.

    Example: evalframe robometer import results/a --store store --tag method=a
    """
    from evalframe.verbs import robometer

    rows = robometer.import_folder(folder, store=store, run_id=run_id, tags=pairs(tag, "--tag"))
    if json:
        show_json({"steps": rows.to_pylist()}, "robometer import")
    else:
        show_rows(rows, format)
