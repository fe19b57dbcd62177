"""`evalframe floor ...`: arguments and drawing only."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from evalframe.cli.common import (
    ForceOption,
    Format,
    JsonOption,
    OptionalStore,
    RelationsOption,
    SetOption,
    StoreOption,
    TagOption,
    pairs,
    put,
    say,
    say_lines,
    show_json,
    show_rows,
)
from evalframe.cli.engine import engaged

SessionsOption = Annotated[list[str], Parameter(help="Session names.")]


@engaged
def evaluate(
    *,
    target_root: Annotated[Path, Parameter(help="Folder of <session>.npy, [T, 3] of 0 and 1.")],
    run: Annotated[list[str], Parameter(help="NAME=DIR with pred/ and valid/; the first is the baseline.")],
    sessions: SessionsOption,
    output: Annotated[Path, Parameter(help="The JSON file to write; CSV files stand beside it.")],
    calibration_run: Annotated[list[str] | None, Parameter(help="NAME=DIR, the same names as --run.")] = None,
    calibration_sessions: Annotated[list[str] | None, Parameter(help="Sessions that choose the thresholds.")] = None,
    matched_recalls: Annotated[list[str] | None, Parameter(help="Wanted recalls; default 0.7 0.8 0.9.")] = None,
    midturn_pause_max_seconds: Annotated[str | None, Parameter(help="Longest short pause; default 2.0.")] = None,
    decision_timing: Annotated[str, Parameter(help="pre-boundary (primary) or post-boundary.")] = "pre-boundary",
    segments: Annotated[Path | None, Parameter(help="CSV session,first_row,n_rows.")] = None,
    addressee: Annotated[Path | None, Parameter(help="CSV session,first_row,last_row,stratum.")] = None,
    cross_fit: Annotated[Path | None, Parameter(help="YAML folds: [{evaluate: [..], calibrate: [..]}].")] = None,
    print_event_timelines: Annotated[int, Parameter(help="Timelines to print, per run and kind.")] = 0,
    allow_in_sample_test_thresholds: Annotated[
        bool, Parameter(help="Exploratory only: choose thresholds on the evaluated sessions; taints every row.")
    ] = False,
    calibration_provenance: Annotated[str | None, Parameter(help="How calibration predictions were made.")] = None,
    row_seconds: Annotated[str | None, Parameter(help="Length of a row; default 0.2.")] = None,
    store: OptionalStore = None,
    run_prefix: Annotated[str | None, Parameter(help="Run ids become PREFIX/NAME.")] = None,
    run_id: Annotated[str | None, Parameter(help="The run id, where there is one --run.")] = None,
    tag: TagOption = None,
    set_: SetOption = None,
    relations: RelationsOption = None,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Evaluate forecasts at floor events: false entries and false stops at matched recall.

    Example: evalframe floor evaluate --target-root target --run baseline=b --run candidate=c
    --calibration-sessions Session_12 --sessions Session_3 Session_2 Session_1 --output out.json
    """
    from evalframe.verbs import floor

    done = floor.evaluate(
        target_root,
        runs=pairs(run, "--run"),
        sessions=sessions,
        calibration_runs=pairs(calibration_run, "--calibration-run"),
        calibration_sessions=calibration_sessions or (),
        matched_recalls=matched_recalls or floor.DEFAULT_RECALLS,
        midturn_pause_max_seconds=midturn_pause_max_seconds,
        decision_timing=decision_timing,
        segments=segments,
        addressee=addressee,
        cross_fit=cross_fit,
        allow_in_sample_test_thresholds=allow_in_sample_test_thresholds,
        calibration_provenance=calibration_provenance,
        row_seconds=row_seconds,
        print_event_timelines=print_event_timelines,
        output=output,
        store=store,
        run_prefix=run_prefix,
        run_id=run_id,
        tags=pairs(tag, "--tag"),
        settings=pairs(set_, "--set"),
        relations=relations,
        force=force,
    )
    if json:
        put(done.to_json())
        return
    for text in done.timelines:
        if format in (Format.JSON, Format.CSV):
            say_lines(text)
        else:
            put(text + "\n\n")
    show_rows(done, format)
    say(f"wrote {', '.join(str(path) for path in done.paths(output))}")


def convert_miniroada(
    *,
    prediction_root: Annotated[Path, Parameter(help="Folder of raw <session>.npy, [T-10, 10, 3].")],
    target_root: Annotated[Path, Parameter(help="Folder of <session>.npy, [T, 3].")],
    output_dir: Annotated[Path, Parameter(help="Folder to write pred/ and valid/ in.")],
    sessions: SessionsOption,
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Align raw MiniROADA forecasts with their targets: pred/ and valid/.

    Example: evalframe floor convert-miniroada --prediction-root raw --target-root target --output-dir run --sessions S1
    """
    from evalframe.verbs import floor_convert

    done = floor_convert.convert_miniroada(prediction_root, target_root, output_dir, sessions=sessions, force=force)
    if json:
        show_json({"sessions": done.to_pylist()}, "floor convert-miniroada")
    else:
        show_rows(done, format)


def rasterize(
    turns: Annotated[list[Path], Parameter(help="RTTM files, or one EasyCom transcription folder.")],
    *,
    wearer: Annotated[str, Parameter(help="Speaker id of the wearer, or most-speech.")],
    output_dir: Annotated[Path, Parameter(help="Folder to write <session>.npy in.")],
    rule: Annotated[str, Parameter(help="row-centre or any-overlap.")] = "row-centre",
    row_seconds: Annotated[str, Parameter(help="Length of a row.")] = "0.2",
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Turn files of speaking turns into target arrays.

    Example: evalframe floor rasterize meeting.rttm --wearer most-speech --output-dir target
    """
    from evalframe.verbs import floor_convert

    done = floor_convert.rasterize(
        turns, wearer=wearer, output_dir=output_dir, rule=rule, row_seconds=row_seconds, force=force
    )
    if json:
        show_json({"sessions": done.to_pylist()}, "floor rasterize")
    else:
        show_rows(done, format)


def audit_sheet(
    *,
    store: StoreOption,
    run: Annotated[str, Parameter(help="The run whose events are drawn.")],
    events: Annotated[int, Parameter(help="How many candidates to draw.")],
    seed: Annotated[int, Parameter(help="Seed of the draw.")],
    output: Annotated[Path, Parameter(help="The CSV file to write.")],
    decision_timing: Annotated[str, Parameter(help="pre-boundary or post-boundary.")] = "pre-boundary",
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Draw a random sample of timelines for reviewers, with five open questions each.

    Example: evalframe floor audit-sheet --store results --run baseline --events 30 --seed 0 --output sheet.csv
    """
    from evalframe.verbs import floor_audit

    sheet = floor_audit.audit_sheet(
        store, run=run, events=events, seed=seed, output=output, decision_timing=decision_timing, force=force
    )
    if json:
        show_json({"events": sheet.shown().to_pylist(), "questions": floor_audit.QUESTIONS}, "floor audit-sheet")
        return
    show_rows(sheet, format)
    for name, question in floor_audit.QUESTIONS.items():
        say(f"{name}  {question}")
    say(f"wrote {output}: answer yes, no or unsure, name the reviewer, then evalframe floor freeze")


def freeze(
    *,
    sheet: Annotated[Path, Parameter(help="The answered sheet.")],
    store: StoreOption,
    output: Annotated[Path, Parameter(help="The JSON file to write.")],
    force: ForceOption = False,
    format: Format = Format.TABLE,
    json: JsonOption = False,
) -> None:
    """Read an answered audit sheet back and record it; open answers are refused.

    Example: evalframe floor freeze --sheet sheet.csv --store results --output freeze.json
    """
    from evalframe.verbs import floor_audit

    done = floor_audit.freeze(sheet, store=store, output=output, force=force)
    if json:
        put(done.to_json())
    else:
        show_rows(done, format)
